package expand

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// Prompt is a task without a manifest, on the current repository.
type Prompt struct {
	Text     string         // the model gets it unchanged
	Setup    []string       // commands that run before the agent
	Verify   []string       // commands
	Attempts int            // with verify commands; 0 for three
	Effort   string         // of the model; "" for its default
	Profile  string         // preset that a profile with Cache extends
	Cache    []string       // of the profile: auto, none or names of caches; nil for that of the profile
	Comment  *tasks.Comment // where the final message is posted; nil for nowhere
	Schema   map[string]any // of the final message; nil for any
	Findings bool           // the final message has the built-in schema of findings
	Output   string         // file for the final message, relative to the current directory; "" for none
	NoCommit bool           // change the working tree itself, also if it has uncommitted changes
	Branch   string         // of the commit; "" for the default
}

// promptAttempts is the number of attempts of a prompt with verify commands.
const promptAttempts = 3

// Manifest returns the manifest of the prompt. The text is the value of a variable, which
// is not expanded again. The manifest is JSON, which is valid YAML; characters that YAML
// does not allow (controls above ASCII, byte order marks) are escaped.
func (p Prompt) Manifest() []byte {
	task := map[string]any{"id": "prompt", "prompt": "${{ vars.prompt }}"}
	doc := map[string]any{"version": 1, "name": "prompt", "vars": map[string]string{"prompt": p.Text}, "tasks": []any{task}}
	if p.NoCommit {
		task["commit"], doc["allow_dirty"] = false, true
	} else if p.Branch != "" {
		task["commit"] = map[string]string{"branch": p.Branch}
	}
	if len(p.Setup) > 0 {
		commands := make([]string, len(p.Setup))
		for i, command := range p.Setup {
			commands[i] = literalText(command)
		}
		task["setup"] = commands
	}
	if len(p.Verify) > 0 {
		commands := make([]any, len(p.Verify))
		for i, command := range p.Verify {
			commands[i] = command
			if literal := literalText(command); literal != command {
				name, _, _ := strings.Cut(command, "\n")
				commands[i] = map[string]string{"name": name, "run": literal}
			}
		}
		task["verify"], task["attempts"] = commands, cmp.Or(p.Attempts, promptAttempts)
	}
	if p.Effort != "" {
		doc["effort"] = literalText(p.Effort)
	}
	if p.Cache != nil {
		profile := map[string]any{"extends": literalText(p.Profile), "cache": cacheValue(p.Cache)}
		task["profile"], doc["profiles"] = "prompt", map[string]any{"prompt": profile}
	}
	if p.Comment != nil {
		task["publish"] = map[string]any{"comment": map[string]any{commentKey(p.Comment): p.Comment.Number, "sticky": p.Comment.Sticky}}
	}
	output := map[string]any{}
	if p.Findings {
		output["schema"] = findings.Name
	} else if p.Schema != nil {
		output["schema"] = p.Schema
	}
	if p.Output != "" {
		output["file"] = literalText(p.Output)
	}
	if len(output) > 0 {
		task["output"] = output
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil // unreachable: strings, numbers and decoded JSON can be encoded
	}
	var out []byte
	for _, r := range string(data) {
		if r >= 0x7f && r <= 0xffff {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return append(out, '\n')
}

func commentKey(c *tasks.Comment) string {
	if c.Issue {
		return "issue"
	}
	return "pull_request"
}

// cacheValue returns the value of the key cache.
func cacheValue(names []string) any {
	if len(names) == 1 && (names[0] == "auto" || names[0] == "none") {
		return names[0]
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = literalText(name)
	}
	return list
}

// literalText returns a template that has no variables.
func literalText(s string) string { return strings.ReplaceAll(s, form.Opening, "$"+form.Opening) }

// maxSchemaFile is the maximum size of a schema's file, in bytes.
const maxSchemaFile = 1 << 20

// ReadSchema reads a JSON Schema for [Prompt.Schema] from a file.
func ReadSchema(ctx context.Context, file string) (map[string]any, error) {
	return manifest.Under(ctx, file, func() (map[string]any, error) { return readSchemaFile(file) })
}

func readSchemaFile(file string) (schema map[string]any, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(io.LimitReader(f, maxSchemaFile))
	d.UseNumber()
	if err = d.Decode(&schema); err == nil && d.More() {
		err = errors.New("more than one document")
	}
	if err == nil && schema == nil {
		err = errors.New("not an object")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSON Schema: %w", file, err)
	}
	return schema, nil
}

// LoadPrompt is like [Load] for the manifest of a prompt. Its problems name the flags of
// millhand run.
func LoadPrompt(ctx context.Context, manifest []byte, o tasks.Options) (*tasks.Plan, error) {
	o.Stdin = func() ([]byte, error) { return manifest, nil }
	plan, err := Load(ctx, []string{"-"}, o)
	var problems problem.List
	if errors.As(err, &problems) {
		flags := flagsOf(string(manifest))
		for i := range problems {
			problems[i] = withFlag(problems[i], flags)
		}
		return nil, problems
	}
	if plan != nil {
		plan.Manifests = []string{"-p"}
	}
	return plan, err
}

// promptKey matches a line of a prompt's manifest with a key of the task or of its output.
var promptKey = regexp.MustCompile(`^ {6}(?:  )?"(prompt|setup|verify|schema|file|commit|id)":`)

// flagsOf returns the flag that each line of a prompt's manifest comes from.
func flagsOf(manifest string) []string {
	names := map[string]string{"setup": "--setup", "verify": "--verify", "schema": "--output-schema", "file": "--output-file"}
	var flags []string
	flag := "-p"
	for line := range strings.Lines(manifest) {
		switch key := promptKey.FindStringSubmatch(line); {
		case key != nil && names[key[1]] != "":
			flag = names[key[1]]
		case key != nil || strings.HasPrefix(line, "    }"):
			flag = "-p"
		}
		flags = append(flags, flag)
	}
	return flags
}

// manifestLine matches the position of another key in a problem.
var manifestLine = regexp.MustCompile(`, first on line \d+$`)

// promptWords replaces what problems call the parts of a manifest.
var promptWords = strings.NewReplacer(
	"the manifest's directory", "the current directory",
	`missing model of task "prompt"`, "missing model",
	"add model: openai/gpt-5-mini at the top of the manifest, or use --model", "use --model, for example --model openai/gpt-5-mini",
	"task prompt: ", "",
	", but the task has commit: false", "",
	"remove commit: false, or write mode: none", "add --commit, or remove --publish",
)

// withFlag replaces what refers to a prompt's manifest by its flag.
func withFlag(p problem.Problem, flags []string) problem.Problem {
	p.What, p.Fix = promptWords.Replace(manifestLine.ReplaceAllString(p.What, "")), promptWords.Replace(p.Fix)
	if p.File != "-" {
		return p
	}
	p.File = "-p"
	if p.Line > 0 && p.Line <= len(flags) {
		p.File = flags[p.Line-1]
	}
	p.Line, p.Column = 0, 0
	return p
}
