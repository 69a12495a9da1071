package shell

// optionEffects reports what a command's options do.
func optionEffects(w *walker, p parsed, c call) {
	if p.Unsure {
		w.result.unknown(ReasonOption, c.text)
	}
	for _, o := range p.Options {
		why := o.Name + " of " + c.words[0].Text
		switch {
		case o.Mark == markOpaque:
			w.result.unknown(ReasonOption, c.text)
		case !o.Given || o.Mark != markHides && o.Mark != markRuns && o.Value.Is("-"):
		case o.Mark == markReads || o.Mark == markEnters || o.Mark == markLists:
			w.name(o.Value, false, why)
			if o.Mark == markLists {
				w.result.unknownPath(c.text, false)
			}
		case o.Mark == markWrites:
			w.name(o.Value, true, why)
		case o.Mark == markHides:
			w.result.unknown(ReasonOption, c.text)
		case o.Mark == markRuns:
			w.text(o.Value, c)
		case o.Mark == markAssigns:
			changeNamed(w, o.Value)
		}
	}
}

// text walks text that a new shell would run. If it isn't known completely, what
// can be read of it is reported all the same.
func (w *walker) text(x word, c call) {
	w.textIn(x, c, false)
}

func (w *walker) textIn(x word, c call, sameShell bool) outcome {
	if x.Literal() {
		return w.script(x.Text, sameShell)
	}
	w.result.unknown(ReasonScript, c.text)
	if _, err := parse(x.Text); err == nil {
		w.script(x.Text, sameShell)
	}
	return same(places{anywhere: true})
}
