package shell

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"

	"mvdan.cc/sh/v3/syntax"
)

// redirects walks redirections: their files, and what their words run.
func (w *walker) redirects(list []*syntax.Redirect) {
	for _, r := range list {
		w.substitutions(r.Word)
		if r.Hdoc != nil {
			w.bodyText(r)
		}
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			changeVariable(w, strings.Trim(r.N.Value, "{}"), r)
		}
		for _, x := range w.braces(r.Word) {
			w.redirect(r, x)
		}
	}
}

// bodyText analyzes the body of a here-document. Bash joins its lines at
// backslashes before it looks for commands in it, even within their quotes.
func (w *walker) bodyText(r *syntax.Redirect) {
	w.quotedParameters(r.Hdoc.Parts)
	w.substitutions(r.Hdoc)
	text := w.frame.document(r)
	if runsIfEvaluated(text) {
		w.unevaluated = text.Text
	}
	if body := source(w.frame.src, r.Hdoc); text.Expansion() >= 0 && strings.Contains(body, "\\\n") {
		w.result.unknown(effect.ReasonScript, body)
	}
}

func (w *walker) redirect(r *syntax.Redirect, x word.Word) {
	write := true
	switch r.Op {
	case syntax.RdrIn:
		write = false
	case syntax.DplOut: // >&x is a file unless x is a descriptor
		if x.Text == "-" || strings.Trim(x.Text, "0123456789") == "" || strings.Trim(x.Text, "0123456789") == "-" {
			return
		}
		if r.N != nil && r.N.Value != "1" && !x.Literal() {
			return
		}
		if expandsTwice(x) {
			w.result.unknown(effect.ReasonScript, source(w.frame.src, r))
		}
	case syntax.Hdoc, syntax.DashHdoc, syntax.DplIn:
		return
	case syntax.WordHdoc:
		w.data(x)
		return
	default: // every other one writes
	}
	if x.Starts("/dev/tcp/") || x.Starts("/dev/udp/") {
		w.result.unknown(effect.ReasonNetwork, x.Text)
		return
	}
	w.name(x, write, "redirection")
}

// expandsTwice reports whether there is something in quotes in the word of ">&"
// that may be special: bash expands the word of that operator, and then the
// result.
func expandsTwice(x word.Word) bool {
	for i := range len(x.Text) {
		if x.Kinds[i] == word.Quoted && !isName(x.Text[i]) && strings.IndexByte("/.-+,:@% ", x.Text[i]) < 0 {
			return true
		}
	}
	return false
}

// input returns the here-document or here-string that a command reads.
func (w *walker) input(redirs []*syntax.Redirect) *word.Word {
	var in *word.Word
	for _, r := range redirs {
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			x := w.frame.document(r)
			in = &x
		case syntax.WordHdoc:
			x := w.frame.word(r.Word)
			in = &x
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			in = nil
		default: // output
		}
	}
	return in
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
