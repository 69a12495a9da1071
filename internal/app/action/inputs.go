package action

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/millhand/millhand/tasks/expand"
)

// Inputs are the inputs of the action, with a valid syntax. Omitted inputs are "".
type Inputs struct {
	Manifest         string        // paths and patterns, separated by spaces or newlines
	Prompt           string        // used instead of a manifest
	PromptFile       string        // file with the prompt
	Task             expand.Prompt // of the prompt, without its text and schema
	Comment          string        // where to post its final message: "", true or sticky
	Schema           string        // file with the schema of its final message
	WorkingDirectory string        // relative to the current directory
	ReportDir        string        // relative to the working directory
	BaseURL          string        // of the model's provider
	Model            string
	Summary          bool   // whether to write the step summary
	Untrusted        string // auto, true or false
	Actors           Actors
	Outsiders        string // of those who may not start a run: skip or fail
	Trigger          Trigger

	flags []string // of the run command, in order
}

// passed lists the inputs that become flags of the run command with the same name.
func passed() []string {
	return []string{
		"model", "profile", "max-profile", "max-cost", "max-time", "max-turns", "jobs", "shard", "publish", "sandbox", "fail-on",
	}
}

// DefaultReportDir is the default of the input report-dir.
const DefaultReportDir = ".millhand/report"

// Read reads the inputs from the environment, for example max-cost from INPUT_MAX_COST.
// The error lists all invalid inputs, one per line.
func Read(getenv func(string) string) (Inputs, error) {
	get := func(name string) string {
		return strings.TrimSpace(getenv("INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))))
	}
	in := Inputs{
		Manifest: get("manifest"), Prompt: get("prompt"), PromptFile: get("prompt-file"),
		WorkingDirectory: cmp.Or(get("working-directory"), "."), ReportDir: cmp.Or(get("report-dir"), DefaultReportDir),
		BaseURL: get("base-url"), Model: get("model"), Untrusted: cmp.Or(strings.ToLower(get("untrusted")), "auto"),
	}
	taskErr := in.readTask(get)
	for _, name := range passed() {
		if v := get(name); v != "" && (name != "profile" || in.Task.Cache == nil) {
			in.flags = append(in.flags, "--"+name+"="+v)
		}
	}
	in.Trigger = Trigger{Phrase: get("trigger-phrase"), Label: get("trigger-label"), Assignee: get("trigger-assignee")}
	in.Outsiders = cmp.Or(strings.ToLower(get("outsiders")), "skip")
	var outsidersErr error
	if !slices.Contains([]string{"skip", "fail"}, in.Outsiders) {
		outsidersErr = fmt.Errorf("input outsiders: invalid value %q: use skip or fail", short(in.Outsiders))
	}
	var actorsErr error
	in.Actors, actorsErr = readActors(get("allow-actors"))
	args, argsErr := flagList(get("args"))
	in.flags = append(in.flags, args...)
	var summaryErr error
	in.Summary, summaryErr = flag("summary", get("summary"))
	var untrustedErr error
	if !slices.Contains([]string{"auto", "true", "false"}, in.Untrusted) {
		untrustedErr = fmt.Errorf("input untrusted: invalid value %q: use auto, true or false", short(in.Untrusted))
	}
	return in, errors.Join(in.checkSource(), taskErr, argsErr, actorsErr, outsidersErr, summaryErr, untrustedErr)
}

// readTask reads the inputs of the task that a prompt is.
func (in *Inputs) readTask(get func(string) string) error {
	var given []string
	for _, name := range []string{"verify", "output-schema", "effort", "attempts", "cache", "comment"} {
		if get(name) != "" {
			given = append(given, name)
		}
	}
	if len(given) > 0 && in.Manifest != "" {
		return fmt.Errorf("input %s: only for prompt and prompt-file; set the keys of the task in the manifest", strings.Join(given, ", "))
	}
	for line := range strings.Lines(get("verify")) {
		if line = strings.TrimSpace(line); line != "" {
			in.Task.Verify = append(in.Task.Verify, line)
		}
	}
	in.Schema, in.Task.Effort = get("output-schema"), get("effort")
	if text := get("cache"); text != "" {
		in.Task.Profile = cmp.Or(get("profile"), "readonly")
		in.Task.Cache = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	}
	if in.Comment = strings.ToLower(get("comment")); in.Comment == "false" {
		in.Comment = ""
	}
	if !slices.Contains([]string{"", "true", "sticky"}, in.Comment) {
		return fmt.Errorf("input comment: invalid value %q: use true, sticky or false", short(in.Comment))
	}
	text := get("attempts")
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("input attempts: invalid value %q: use a number from 1", short(text))
	}
	if in.Task.Attempts = n; len(in.Task.Verify) == 0 {
		return errors.New("input attempts: it needs the input verify, whose failure starts another attempt")
	}
	return nil
}

// checkSource checks that there is exactly one source of tasks.
func (in Inputs) checkSource() error {
	var given []string
	for _, source := range []struct{ name, value string }{{"manifest", in.Manifest}, {"prompt", in.Prompt}, {"prompt-file", in.PromptFile}} {
		if source.value != "" {
			given = append(given, source.name)
		}
	}
	switch len(given) {
	case 0:
		return errors.New("missing input: set one of manifest, prompt and prompt-file")
	case 1:
		return nil
	}
	return fmt.Errorf("conflicting inputs %s: set only one of them", strings.Join(given, " and "))
}

// flagList parses the input args.
func flagList(text string) ([]string, error) {
	const form = `use a JSON array of strings, for example ["--var", "owner=platform team"]`
	if text == "" {
		return nil, nil
	}
	var list []*string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("input args: invalid list of flags %q (%w); %s", short(text), err, form)
	}
	var flags []string
	for i, item := range list {
		switch {
		case item == nil:
			return nil, fmt.Errorf("input args: item %d is null; %s", i+1, form)
		case i == 0 && !strings.HasPrefix(*item, "-"):
			return nil, fmt.Errorf("input args: %q is not a flag; use the input manifest for manifests", short(*item))
		case *item == "--" || *item == "-":
			return nil, fmt.Errorf("input args: %q is not allowed; use the input manifest for manifests", *item)
		}
		name, _, _ := strings.Cut(strings.TrimLeft(*item, "-"), "=")
		if strings.HasPrefix(*item, "-") && name == "report-dir" {
			return nil, errors.New("input args: --report-dir is not allowed; use the input report-dir")
		}
		flags = append(flags, *item)
	}
	return flags, nil
}

// flag parses a boolean input.
func flag(name, text string) (bool, error) {
	switch strings.ToLower(text) {
	case "", "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("input %s: invalid value %q: use true or false", name, short(text))
}

// short truncates an input for a message.
func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// flagError is a flag at the start of an error, or a value for it.
var flagError = regexp.MustCompile(`--([a-z-]+)\b`)

// NameInputs names the inputs in an error about flags of the run command, which the workflow
// does not have.
func NameInputs(text string) string {
	named := false
	text = flagError.ReplaceAllStringFunc(text, func(flag string) string {
		if name := flag[len("--"):]; slices.Contains(passed(), name) {
			named = true
			return "input " + name
		}
		return flag
	})
	if named {
		text, _, _ = strings.Cut(text, "; see 'millhand run --help'")
	}
	return text
}

// Arguments returns the command line of millhand for the inputs and manifests. Each flag
// and its value are one argument, so that no value is parsed as a flag.
func (in Inputs) Arguments(manifests []string) []string {
	args := append([]string{"run", "--log-format=github", "--report-dir=" + in.ReportDir}, in.flags...)
	if in.Untrusted == "true" {
		args = append(args, "--untrusted")
	}
	return slices.Concat(args, []string{"--"}, manifests)
}
