package program

import (
	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// optionEffects reports what a command's options do.
func optionEffects(e *effect.List, p word.Parsed, c effect.Call) {
	if p.Unsure {
		e.Unknown(effect.ReasonOption)
	}
	for _, o := range p.Options {
		why := o.Name + " of " + c.Name()
		switch {
		case o.Mark == word.MarkOpaque:
			e.Unknown(effect.ReasonOption)
		case !o.Given || o.Mark != word.MarkHides && o.Mark != word.MarkRuns && o.Value.Is("-"):
		case o.Mark == word.MarkReads || o.Mark == word.MarkEnters || o.Mark == word.MarkLists:
			e.Use(o.Value, false, why)
			if o.Mark == word.MarkLists {
				e.UnknownPath("", false)
			}
		case o.Mark == word.MarkWrites:
			e.Use(o.Value, true, why)
		case o.Mark == word.MarkHides:
			e.Unknown(effect.ReasonOption)
		case o.Mark == word.MarkRuns:
			e.RunText(o.Value)
		case o.Mark == word.MarkAssigns:
			e.Assign(o.Value)
		}
	}
}
