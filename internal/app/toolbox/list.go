package toolbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/skill"
)

// specDocument is one tool in `millhand tool list --json`.
type specDocument struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
	ReadOnly    bool           `json:"read_only"`
}

// List prints the tools that a model is offered.
func List(ctx context.Context, w world.World, o Options) error {
	s, err := newSite(ctx, w, o)
	if err != nil {
		return err
	}
	env := s.env
	env.Redact = w.Redactor(s.set.plan)
	if space, err := workspace.Open("."); err == nil { // otherwise there are no skills
		defer space.Close()
		env.Workspace = space
		env.Skills = skill.Find(space, s.set.skills)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.end = end
	defer s.close()
	if s.set.plan != nil && s.set.plan.LSP != nil {
		env.Languages = &lsp.Servers{} // nothing is called
	}
	served, err := s.serve(ctx)
	if err != nil {
		return err
	}
	registry, err := tools.For(env, slices.Concat(s.set.custom, served)...)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	docs := []specDocument{}
	for _, s := range registry.Offer(env.Profile) {
		docs = append(docs, specDocument{s.Name, s.Description, s.Schema, s.ReadOnly})
	}
	if err := printList(w, env, docs, o.JSON); err != nil {
		return fault.New(event.ExitInternal, "print the tools: %w", err)
	}
	return nil
}

// printList prints tools without secrets, as JSON or in a line each.
func printList(w world.World, env *tools.Env, docs []specDocument, asJSON bool) error {
	var text bytes.Buffer
	if asJSON {
		if err := printable.WriteJSON(&text, docs); err != nil {
			return err
		}
		_, err := w.Out.Write(env.Redact.JSON(text.Bytes()))
		return err
	}
	for _, d := range docs {
		fmt.Fprintf(&text, "%-11s %s\n", printable.Line(env.Redact.Text(d.Name), 100), printable.Line(env.Redact.Text(d.Description), 100))
	}
	_, err := w.Out.Write(text.Bytes())
	return err
}
