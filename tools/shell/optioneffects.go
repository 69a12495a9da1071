package shell

// optionEffects reports what a command's options do.
func optionEffects(w *walker, p parsed, c call) {
	if p.unsure {
		w.result.unknown(ReasonOption, c.text)
	}
	for _, o := range p.options {
		why := o.name + " of " + c.words[0].text
		switch {
		case o.mark == markOpaque:
			w.result.unknown(ReasonOption, c.text)
		case !o.given || o.mark != markHides && o.mark != markRuns && o.value.is("-"):
		case o.mark == markReads || o.mark == markEnters || o.mark == markLists:
			w.name(o.value, false, why)
			if o.mark == markLists {
				w.result.unknownPath(c.text, false)
			}
		case o.mark == markWrites:
			w.name(o.value, true, why)
		case o.mark == markHides:
			w.result.unknown(ReasonOption, c.text)
		case o.mark == markRuns:
			w.text(o.value, c)
		case o.mark == markAssigns:
			changeNamed(w, o.value)
		}
	}
}

// text walks text that a new shell would run. If it isn't known completely, what
// can be read of it is reported all the same.
func (w *walker) text(x word, c call) {
	w.textIn(x, c, false)
}

func (w *walker) textIn(x word, c call, sameShell bool) outcome {
	if x.literal() {
		return w.script(x.text, sameShell)
	}
	w.result.unknown(ReasonScript, c.text)
	if _, err := parse(x.text); err == nil {
		w.script(x.text, sameShell)
	}
	return same(places{anywhere: true})
}
