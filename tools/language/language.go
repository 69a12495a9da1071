// Package language has what language servers do for a session: the tool lsp, and the errors that they find after
// an edit, of which it shows what the rules allow to read. It neither starts servers nor speaks their protocol: package lsp does.
package language

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed lsp.md
var description string

// The maximum number of errors of a file, and of other files, in a result.
const (
	maxErrors     = 20
	maxOtherFiles = 5
)

// The files whose lines a result of the tool lsp shows: how many, and their maximum size.
const (
	maxLineFiles = 100
	maxLineBytes = 1 << 20
)

type input struct {
	Operation string `json:"operation" enum:"goToDefinition,findReferences,hover,documentSymbol,workspaceSymbol,goToImplementation,prepareCallHierarchy,incomingCalls,outgoingCalls" jsonschema:"what to ask"`
	FilePath  string `json:"filePath" jsonschema:"file: absolute, or relative to the workspace"`
	Line      int    `json:"line" jsonschema:"line number, counting from 1"`
	Character int    `json:"character" jsonschema:"column, counting from 1"`
	Query     string `json:"query,omitempty" jsonschema:"what names have to match (workspaceSymbol only)"`
}

// Env is what the tool and the notifications need of a session.
type Env struct {
	*access.Paths
	Servers *lsp.Servers // nil: none
}

// Tool returns the tool lsp.
func Tool() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "lsp", Description: description, ReadOnly: true, Deadline: 2 * time.Minute}, prepare)
}

// Needs lists the permissions for asking about a file, which includes reading it.
func (env Env) Needs(name string) (workspace.Path, []permission.Request, error) {
	p, needs, err := env.Need("lsp", name, access.ToRead)
	if err == nil {
		needs = append(needs, permission.Need("read", access.Names(p)...))
	}
	return p, needs, err
}

func prepare(env Env, in input) (tool.Pending, error) {
	p, needs, err := env.Needs(in.FilePath)
	switch {
	case err != nil:
		return tool.Pending{}, err
	case in.Line < 1 || in.Character < 1:
		return tool.Pending{}, fmt.Errorf("invalid position %d:%d: lines and characters count from 1", in.Line, in.Character)
	}
	title := fmt.Sprintf("%s %s:%d:%d", in.Operation, p.Rel, in.Line, in.Character)
	return tool.Pending{Title: title, Needs: needs, Do: func(ctx context.Context) (tool.Result, error) { return query(ctx, env, p, in) }}, nil
}

func query(ctx context.Context, env Env, p workspace.Path, in input) (tool.Result, error) {
	st, err := env.Workspace.Stat(p)
	switch {
	case access.IsMissing(err):
		return tool.Result{}, env.NotFound(p)
	case err != nil:
		return tool.Result{}, fmt.Errorf("open %s: %w", p, err)
	case !st.Mode().IsRegular() || p.Outside:
		return tool.Result{}, fmt.Errorf("%s is not a file in the workspace", p)
	}
	q := lsp.Query{Operation: in.Operation, Path: p.Abs, Line: in.Line, Column: in.Character, Symbol: in.Query}
	results, server, err := env.Servers.Query(ctx, q)
	if err == nil && q.Operation == "hover" && len(results) > 0 {
		err = env.mayHover(ctx, q)
	}
	res := tool.Result{Extension: server}
	if err != nil {
		return res, err
	}
	shown := text{name: env.nameOf, line: env.lineOf()}
	var list []string
	for _, r := range results {
		if env.mayTell(r) {
			list = append(list, shown.of(q, r))
		}
	}
	if res.Output = strings.Join(list, "\n"); len(list) == 0 {
		res.Output = "No results found for " + q.Operation
	}
	if left := len(results) - len(list); left > 0 {
		res.Output += fmt.Sprintf("\n(%s in files that may not be read left out)", figures.Count(left, "result"))
	}
	return res, nil
}

// nameOf returns how results name a file: relative to the workspace if it is in it.
func (env Env) nameOf(path string) string {
	if p, err := env.Workspace.Resolve(path); err == nil {
		return p.String()
	}
	return textcut.Path(path)
}

// lineOf returns a function for the text of a line, from 1, of a file in the workspace; empty for
// others. Each file is read once, and only so many, because a result can name very many.
func (env Env) lineOf() func(path string, line int) string {
	files := map[string][]string{}
	return func(path string, line int) string {
		lines, known := files[path]
		if !known && len(files) < maxLineFiles {
			if p, err := env.Workspace.Resolve(path); err == nil && !p.Outside {
				if data, err := env.Workspace.Peek(p, maxLineBytes); err == nil {
					lines = strings.Split(string(data), "\n")
				}
			}
			files[path] = lines
		}
		if line < 1 || line > len(lines) {
			return ""
		}
		return lines[line-1]
	}
}

// mayTell reports whether the rules allow reading all files that a result names.
func (env Env) mayTell(result json.RawMessage) bool {
	paths, ok := lsp.Files(result)
	for _, path := range paths {
		ok = ok && env.MayRead(path)
	}
	return ok
}

// mayHover returns an error if what hovering shows is from a file in the workspace that may not
// be read: its result does not name the file. Other files are those that the sandbox of the
// server grants, such as a standard library.
func (env Env) mayHover(ctx context.Context, q lsp.Query) error {
	q.Operation = "goToDefinition"
	results, _, err := env.Servers.Query(ctx, q)
	if err != nil {
		return err
	}
	for _, r := range results {
		paths, _ := lsp.Files(r)
		for _, path := range paths {
			if p, err := env.Workspace.Resolve(path); err != nil || !p.Outside && !env.MayRead(path) {
				return fmt.Errorf("the symbol at %d:%d is defined in a file that may not be read", q.Line, q.Column)
			}
		}
	}
	return nil
}

// Opened notifies language servers of a file that was read.
func (env Env) Opened(p workspace.Path) {
	if env.Servers != nil && !p.Outside && !p.Git() {
		env.Servers.Opened(p.Abs)
	}
}

// Checked runs a change of files, and appends the errors that language servers find after it.
func (env Env) Checked(ctx context.Context, paths []workspace.Path, change func() (tool.Result, error)) (tool.Result, error) {
	if env.Servers == nil {
		return change()
	}
	var edited []string
	for _, p := range paths {
		if !p.Outside && !p.Git() {
			edited = append(edited, p.Abs)
		}
	}
	slices.Sort(edited)
	edits := env.Servers.Before(ctx, edited)
	res, err := change()
	if err == nil {
		text := env.errorsText(edits.After(ctx), len(edited))
		res.Output, res.Diagnosed = res.Output+text, text != ""
	}
	return res, err
}

// errorsText returns the errors in the form of OpenCode, without those in files that may not be
// read.
func (env Env) errorsText(found lsp.Found, edited int) string {
	var text strings.Builder
	others := 0
	for _, f := range found.Files {
		p, err := env.Workspace.Resolve(f.Path)
		if err != nil || !env.MayRead(f.Path) {
			continue
		}
		head := "LSP errors detected in other files:"
		switch {
		case !f.Edited && others == maxOtherFiles:
			continue
		case !f.Edited:
			others++
		case edited == 1:
			head = "LSP errors detected in this file, please fix:"
		default:
			head = "LSP errors detected in " + p.Rel + ", please fix:"
		}
		if f.Unsure {
			head = strings.TrimSuffix(strings.TrimSuffix(head, ", please fix:"), ":") + " (some may be older than this edit):"
		}
		fmt.Fprintf(&text, "\n\n%s\n<diagnostics file=%q>\n", head, p.Rel)
		for _, e := range f.Errors[:min(len(f.Errors), maxErrors)] {
			fmt.Fprintf(&text, "ERROR [%d:%d] %s\n", e.Line, e.Column, textcut.OneLine(e.Message))
		}
		if more := len(f.Errors) - maxErrors; more > 0 {
			fmt.Fprintf(&text, "... and %d more\n", more)
		}
		text.WriteString("</diagnostics>")
	}
	for _, note := range found.Notes {
		text.WriteString("\n\n(" + note + ")")
	}
	return text.String()
}
