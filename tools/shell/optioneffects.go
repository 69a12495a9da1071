package shell

import (
	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// optionEffects reports what a command's options do.
func optionEffects(w *walker, p word.Parsed, c call) {
	if p.Unsure {
		w.result.unknown(effect.ReasonOption, c.text)
	}
	for _, o := range p.Options {
		why := o.Name + " of " + c.words[0].Text
		switch {
		case o.Mark == word.MarkOpaque:
			w.result.unknown(effect.ReasonOption, c.text)
		case !o.Given || o.Mark != word.MarkHides && o.Mark != word.MarkRuns && o.Value.Is("-"):
		case o.Mark == word.MarkReads || o.Mark == word.MarkEnters || o.Mark == word.MarkLists:
			w.name(o.Value, false, why)
			if o.Mark == word.MarkLists {
				w.result.unknownPath(c.text, false)
			}
		case o.Mark == word.MarkWrites:
			w.name(o.Value, true, why)
		case o.Mark == word.MarkHides:
			w.result.unknown(effect.ReasonOption, c.text)
		case o.Mark == word.MarkRuns:
			w.text(o.Value, c)
		case o.Mark == word.MarkAssigns:
			changeNamed(w, o.Value)
		}
	}
}

// text walks text that a new shell would run. If it isn't known completely, what
// can be read of it is reported all the same.
func (w *walker) text(x word.Word, c call) {
	w.textIn(x, c, false)
}

func (w *walker) textIn(x word.Word, c call, sameShell bool) outcome {
	if x.Literal() {
		return w.script(x.Text, sameShell)
	}
	w.result.unknown(effect.ReasonScript, c.text)
	if _, err := parse(x.Text); err == nil {
		w.script(x.Text, sameShell)
	}
	return same(places{anywhere: true})
}
