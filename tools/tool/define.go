package tool

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/tools/arguments"
)

// definition is a Tool made by [Define].
type definition[Env, In any] struct {
	spec    Spec
	prepare func(Env, In) (Pending, error)
	input   *arguments.Struct
}

// Define returns a tool whose arguments are the fields of the struct In: their
// json tags are the names (omitempty means optional), their jsonschema tags the
// descriptions, their enum tags the values. It sets the spec's Schema, which all tools with these arguments share.
func Define[Env, In any](spec Spec, prepare func(Env, In) (Pending, error)) Tool[Env] {
	d := &definition[Env, In]{spec: spec, prepare: prepare, input: arguments.Of[In]()}
	d.spec.Schema = d.input.Schema
	return d
}

// Spec implements Tool.
func (d *definition[Env, In]) Spec() Spec { return d.spec }

// Prepare implements Tool.
func (d *definition[Env, In]) Prepare(env Env, input json.RawMessage) (Pending, error) {
	var in In
	ignored, err := d.input.Decode(input, &in)
	if err != nil {
		return Pending{}, err
	}
	p, err := d.prepare(env, in)
	if len(ignored) > 0 && err == nil {
		p.Note("ignored unknown argument " + strings.Join(ignored, ", "))
	}
	return p, err
}

// Note adds a note at the end of the result.
func (p *Pending) Note(note string) {
	do := p.Do
	p.Do = func(ctx context.Context) (Result, error) {
		res, err := do(ctx)
		res.Output = strings.TrimLeft(res.Output+"\n\n("+note+")", "\n")
		return res, err
	}
}

// Warn adds a note before the result.
func (p *Pending) Warn(note string) {
	do := p.Do
	p.Do = func(ctx context.Context) (Result, error) {
		res, err := do(ctx)
		res.Output = "(" + note + ")\n\n" + res.Output
		return res, err
	}
}
