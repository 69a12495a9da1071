package effect

import (
	"testing"

	"github.com/millhand/millhand/tools/shell/word"
)

func TestEffectsAreCollectedInTheirOrder(t *testing.T) {
	var l List
	x := word.Plain("x")
	call := Call{Words: []word.Word{word.Plain("a"), x}, More: true}
	l.Use(x, true, "why")
	l.UseFirst(x, false, "why")
	l.UsePath("/x", true, "why")
	l.Unknown(ReasonOption)
	l.UnknownPath("x", true)
	l.Enter(x)
	l.Assign(x)
	l.RunText(x)
	l.RunInput()
	l.Run(call, true)
	l.RunFor([]word.Word{x}, true, call)
	l.Split(x, call.Words)
	for i, kind := range []Kind{Uses, Uses, UsesPath, Unknown, UnknownPath, Enters, Assigns, RunsText, RunsInput, Runs, Runs, Splits} {
		if l.All[i].Kind != kind {
			t.Errorf("effect %d is %d, want %d", i, l.All[i].Kind, kind)
		}
	}
	if first := l.All[1]; !first.First || first.Write || l.All[0].First || !l.All[0].Write {
		t.Errorf("got %+v after %+v", first, l.All[0])
	}
	if in := l.All[10]; !in.InMatches || len(in.Matches) != 1 || in.Call.Name() != "a" || len(in.Call.Args()) != 1 {
		t.Errorf("got %+v", in)
	}
}

func TestEffectsKnowWhoHasThem(t *testing.T) {
	var l List
	l.Unknown(ReasonPath)
	l.Packaged(true)
	l.Unknown(ReasonPath)
	l.Packaged(false)
	l.Remote()
	l.Unknown(ReasonPath)
	for i, want := range []Effect{{Kind: Unknown}, {Kind: Unknown, Packaged: true}, {Kind: Unknown, Remote: true}} {
		if got := l.All[i]; got.Packaged != want.Packaged || got.Remote != want.Remote {
			t.Errorf("effect %d: packaged %t, remote %t", i, got.Packaged, got.Remote)
		}
	}
}
