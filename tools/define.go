package tools

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/tools/arguments"
)

// definition is a Tool made by [Define].
type definition[In any] struct {
	spec    Spec
	prepare func(*Env, In) (Pending, error)
	input   *arguments.Struct
}

// Define returns a tool whose arguments are the fields of the struct In: their
// json tags are the names (omitempty means optional), their jsonschema tags the
// descriptions, their enum tags the values. It sets the spec's Schema, which all tools with these arguments share.
func Define[In any](spec Spec, prepare func(*Env, In) (Pending, error)) Tool {
	d := &definition[In]{spec: spec, prepare: prepare, input: arguments.Of[In]()}
	d.spec.Schema = d.input.Schema
	return d
}

// Spec implements Tool.
func (d *definition[In]) Spec() Spec { return d.spec }

// Prepare implements Tool.
func (d *definition[In]) Prepare(env *Env, input json.RawMessage) (Pending, error) {
	var in In
	ignored, err := d.input.Decode(input, &in)
	if err != nil {
		return Pending{}, err
	}
	p, err := d.prepare(env, in)
	if len(ignored) > 0 && err == nil {
		p.Do = noting("ignored unknown argument "+strings.Join(ignored, ", "), p.Do)
	}
	return p, err
}

// noting returns a function that adds a note to the results of another.
func noting(note string, do func(context.Context) (Result, error)) func(context.Context) (Result, error) {
	return func(ctx context.Context) (Result, error) {
		res, err := do(ctx)
		res.Output = strings.TrimLeft(res.Output+"\n\n("+note+")", "\n")
		return res, err
	}
}

// warning is like noting, but the note comes first.
func warning(note string, do func(context.Context) (Result, error)) func(context.Context) (Result, error) {
	return func(ctx context.Context) (Result, error) {
		res, err := do(ctx)
		res.Output = "(" + note + ")\n\n" + res.Output
		return res, err
	}
}
