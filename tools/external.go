package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/terminal"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/arguments"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/tool"
)

// maxExternalText is the maximum length of an external tool's description in bytes, without the dots.
const maxExternalText = 2<<10 - 3

// External describes a tool of another program that serves a job, such as an MCP server. Its
// permission is its name, with the subject "*".
type External struct {
	Name        string // of letters, digits, hyphens and underscores
	Description string
	Extension   string          // the program's name in the manifest
	Schema      json.RawMessage // JSON Schema of the arguments; if it is missing or invalid, arguments are not checked
	Checks      bool            // the program checks the arguments itself
	Foreign     string          // see [Spec]
	// Call calls the tool. It must be safe for concurrent use. Of a result with an error, only the
	// title and the metadata are used.
	Call func(context.Context, ExternalCall) (ExternalResult, error)
}

// ExternalCall is a call of an external tool.
type ExternalCall struct {
	ID        string
	Arguments json.RawMessage                              // a JSON object
	Decide    func(permission.Request) permission.Decision // of the session's profile
}

// ExternalResult is the result of an external tool.
type ExternalResult struct {
	Title string // "" for the arguments
	Text  string
	// Metadata is a JSON object for the record; anything else is ignored.
	Metadata json.RawMessage
	Images   []Attachment // of any type and size; their names are not used
	Failed   bool         // Text is an error
}

// external is the Tool of an [External].
type external struct {
	External
	spec   Spec
	schema *arguments.Foreign
}

// NewExternal returns the tool of an external one.
func NewExternal(e External) Tool {
	t := external{External: e, spec: Spec{
		Name: e.Name, Description: textcut.Head(strings.ToValidUTF8(e.Description, "\uFFFD"), maxExternalText, "..."),
		Parallel: true, Extension: e.Extension, Foreign: e.Foreign,
	}}
	var err error
	if t.schema, err = arguments.Read(e.Schema); err != nil || len(e.Schema) == 0 {
		t.schema = arguments.Unknown()
	}
	t.spec.Schema = t.schema.Offered
	return t
}

// Spec implements Tool.
func (t external) Spec() Spec { return t.spec }

// Prepare implements Tool.
func (t external) Prepare(env *Env, input json.RawMessage) (Pending, error) {
	given, err := t.schema.Decode(input, t.Checks)
	if err != nil {
		return Pending{}, err
	}
	return Pending{Title: string(given), Needs: []permission.Request{permission.Need(t.Name, "*")}, Do: func(ctx context.Context) (Result, error) {
		decide := func(r permission.Request) permission.Decision {
			d := env.Profile.Decide(r)
			if d.Allowed() {
				d = env.Hooks.Ask(ctx, HookCall{ID: tool.CallID(ctx), Tool: t.Name, Input: given}, d, []permission.Request{r})
			}
			return d
		}
		res, err := t.Call(ctx, ExternalCall{tool.CallID(ctx), given, decide})
		if err != nil {
			out := Result{Title: res.Title}
			out.Metadata.SetCustom(res.Metadata)
			return out, err
		}
		return t.result(env, res)
	}}, nil
}

// result returns a result in the form of all tools: images that the model can't receive
// are named.
func (t external) result(env *Env, from ExternalResult) (Result, error) {
	out := Result{Title: from.Title, Terminal: true}
	out.Metadata.SetCustom(from.Metadata)
	texts := []string{from.Text}
	for i, image := range from.Images {
		attachment, note, err := fitExternal(env, image)
		if err != nil {
			texts = append(texts, fmt.Sprintf("(image %d, %s, %d bytes: %v)", i+1, textcut.OneLine(image.MIME), len(image.Data), err))
			continue
		}
		attachment.Name = fmt.Sprintf("%s-%d", t.Name, i+1)
		texts = append(texts, fmt.Sprintf("(image %d, %s, %d bytes%s, is attached)", i+1, attachment.MIME, len(attachment.Data), note))
		out.Attachments = append(out.Attachments, attachment)
	}
	out.Output = strings.Trim(strings.Join(texts, "\n"), "\n")
	switch {
	case out.Output == "" && !from.Failed:
		out.Output = "(no output)"
	case from.Failed && len(out.Output) <= cut.MaxMessage:
		failure := terminal.Text(out.Output)
		if out.Output = ""; failure == "" {
			failure = "tool " + t.Name + " failed without an error message"
		}
		return out, errors.New(failure)
	case from.Failed:
		return out, errors.New("tool " + t.Name + " failed")
	}
	return out, nil
}

// fitExternal returns an image as an attachment that the session's model accepts. The type
// is that of its first bytes, without the dots.
func fitExternal(env *Env, image Attachment) (a Attachment, note string, err error) {
	kind := media.Of("", image.Data)
	switch {
	case kind == "" || kind == media.PDF:
		return a, "", errors.New("not a PNG, JPEG, GIF or WebP image")
	case !env.Accepts.Images:
		return a, "", errors.New("this model does not support images")
	case len(image.Data) > maxExternalImage:
		return a, "", fmt.Errorf("exceeds %d MiB", maxExternalImage>>20)
	}
	data, as, changed, err := media.Fit(kind, image.Data)
	if err != nil {
		return a, "", err
	}
	if changed != "" {
		note = ", " + changed
	}
	return Attachment{MIME: as, Data: data}, note, nil
}

// maxExternalImage is the maximum size of an image in a result in bytes, without the dots.
const maxExternalImage = 5 << 20
