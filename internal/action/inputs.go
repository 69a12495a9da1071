package action

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Inputs are the inputs of the action, checked as far as their form goes. ""
// is an input that was left out.
type Inputs struct {
	Manifest         string // paths and patterns, separated by blanks or line ends
	Prompt           string // what to do, in place of a manifest
	PromptFile       string // a file that holds it
	WorkingDirectory string // relative to the current directory
	ReportDir        string // relative to the working directory
	BaseURL          string // of the model's provider
	Model            string
	Summary          bool   // whether the step summary is written
	Untrusted        string // auto, true or false

	flags []string // of the run command, in order
}

// passed lists the inputs that are flags of the run command under the same name.
func passed() []string {
	return []string{
		"model", "profile", "max-profile", "max-cost", "max-time", "max-turns", "jobs", "shard", "publish", "sandbox", "fail-on",
	}
}

// DefaultReportDir is where the reports go when no input says so.
const DefaultReportDir = ".millhand/report"

// Read reads the inputs from the environment, where the input max-cost is
// INPUT_MAX_COST. The error names every input that is wrong, one a line.
func Read(getenv func(string) string) (Inputs, error) {
	get := func(name string) string {
		return strings.TrimSpace(getenv("INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))))
	}
	in := Inputs{
		Manifest: get("manifest"), Prompt: get("prompt"), PromptFile: get("prompt-file"),
		WorkingDirectory: cmp.Or(get("working-directory"), "."), ReportDir: cmp.Or(get("report-dir"), DefaultReportDir),
		BaseURL: get("base-url"), Model: get("model"), Untrusted: cmp.Or(strings.ToLower(get("untrusted")), "auto"),
	}
	for _, name := range passed() {
		if v := get(name); v != "" {
			in.flags = append(in.flags, "--"+name+"="+v)
		}
	}
	args, argsErr := flagList(get("args"))
	in.flags = append(in.flags, args...)
	var summaryErr error
	in.Summary, summaryErr = flag("summary", get("summary"))
	var untrustedErr error
	if !slices.Contains([]string{"auto", "true", "false"}, in.Untrusted) {
		untrustedErr = fmt.Errorf("input untrusted: %q is not auto, true or false", short(in.Untrusted))
	}
	return in, errors.Join(in.checkSource(), argsErr, summaryErr, untrustedErr)
}

// checkSource finds out whether there is one source of tasks.
func (in Inputs) checkSource() error {
	var given []string
	for _, source := range []struct{ name, value string }{{"manifest", in.Manifest}, {"prompt", in.Prompt}, {"prompt-file", in.PromptFile}} {
		if source.value != "" {
			given = append(given, source.name)
		}
	}
	switch len(given) {
	case 0:
		return errors.New("there is nothing to do: give one of the inputs manifest, prompt and prompt-file")
	case 1:
		return nil
	}
	return fmt.Errorf("the inputs %s are given: give one of them", strings.Join(given, " and "))
}

// flagList reads the input args.
func flagList(text string) ([]string, error) {
	const form = `write a JSON array of strings, such as ["--var", "owner=platform team"]`
	if text == "" {
		return nil, nil
	}
	var list []*string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("input args: %q is no list of flags (%w); %s", short(text), err, form)
	}
	var flags []string
	for i, item := range list {
		switch {
		case item == nil:
			return nil, fmt.Errorf("input args: item %d is null; %s", i+1, form)
		case i == 0 && !strings.HasPrefix(*item, "-"):
			return nil, fmt.Errorf("input args: it begins with %q, which is no flag; manifests are named by the input manifest", short(*item))
		case *item == "--" || *item == "-":
			return nil, fmt.Errorf("input args: %q can't stand there; manifests are named by the input manifest", *item)
		}
		name, _, _ := strings.Cut(strings.TrimLeft(*item, "-"), "=")
		if strings.HasPrefix(*item, "-") && name == "report-dir" {
			return nil, errors.New("input args: --report-dir is the input report-dir")
		}
		flags = append(flags, *item)
	}
	return flags, nil
}

// flag reads an input that is yes or no.
func flag(name, text string) (bool, error) {
	switch strings.ToLower(text) {
	case "", "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("input %s: %q is neither true nor false", name, short(text))
}

// short is the beginning of an input, for a message.
func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// Arguments returns the arguments of millhand that carry the inputs out on
// these manifests. Every value is one word with its flag, so that none can be
// taken for a flag itself.
func (in Inputs) Arguments(manifests []string) []string {
	args := append([]string{"run", "--log-format=github", "--report-dir=" + in.ReportDir}, in.flags...)
	if in.Untrusted == "true" {
		args = append(args, "--untrusted")
	}
	return slices.Concat(args, []string{"--"}, manifests)
}
