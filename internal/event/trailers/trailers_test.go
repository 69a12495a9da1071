package trailers

import "testing"

func TestTrailersOfAMessage(t *testing.T) {
	type message struct{ ours, made, finishes, unfinished, contains bool }
	own := Run.Of("r") + "\n" + Job.Of("a.1") + "\n" + Task.Of("h") + "\n"
	for name, c := range map[string]struct {
		message string
		want    message
	}{
		"a commit of a run":          {"a: fix it\n\n" + own, message{ours: true, made: true, finishes: true, contains: true}},
		"edited on a forge":          {"a: fix it\r\n\r\nMillhand-Run: r\r\nMillhand-Job: a.1\r\nMillhand-Task: h  \r\n", message{ours: true, made: true, finishes: true, contains: true}},
		"without a last line break":  {"x\n\nMillhand-Task: h", message{ours: true, finishes: true, contains: true}},
		"work in progress":           {"wip: a: fix it\n\n" + own + Outcome.Of("limit") + "\n", message{ours: true, made: true, unfinished: true, contains: true}},
		"of another job":             {"x\n\n" + Run.Of("r") + "\n" + Job.Of("a.10") + "\n" + Task.Of("h2") + "\n", message{ours: true, contains: true}},
		"of another run":             {"x\n\n" + Run.Of("r2") + "\n" + Job.Of("a.1") + "\n", message{}},
		"several that were combined": {"x\n\n" + Task.Of("h0") + "\n\n" + own, message{ours: true, made: true, finishes: true, contains: true}},
		"below what a forge adds":    {"x\n\n" + own + "\nCo-authored-by: A <a@example.com>\n", message{contains: true}},
		"in a paragraph of the text": {"x\n\n" + own + "\nAs above.\n\n" + Run.Of("r2") + "\n" + Job.Of("b") + "\n" + Task.Of("h2") + "\n", message{ours: true, contains: true}},
		"joined to those of a text":  {"x\n\nMillhand-Run: r2\nMillhand-Job: b\nMillhand-Task: h2\nMillhand-Outcome: limit\n" + own, message{ours: true, made: true, finishes: true, contains: true}},
		"the text of the last value": {"x\n\nMillhand-Task: h2\nMillhand-Task: h\n", message{ours: true, finishes: true, contains: true}},
		"the subject":                {own, message{contains: true}},
		"continued":                  {"x\n\nMillhand-Job: b\n Millhand-Task: h\n", message{}},
		"quoted":                     {"Undo a commit\n\n    " + Task.Of("h") + "\n", message{}},
		"another key":                {"x\n\nMillhand-Tasks: h\nMillhand-Task:h\n", message{}},
		"a mention":                  {"Remove Millhand-Task: h\n", message{}},
		"no trailers":                {"x\n", message{}},
		"an empty value":             {"x\n\nMillhand-Task:\n", message{ours: true, contains: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Read(c.message)
			if got := (message{r.Ours(), r.MadeFor("r", "a.1"), r.Finishes("h"), r.Unfinished(), Contains(c.message)}); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestValuesOfTrailers(t *testing.T) {
	r := Read("x\n\nMillhand-Rollout: the name \nMillhand-Reverts: c1\nMillhand-Evidence: sha256:e\n")
	if !r.Has(Rollout, " the name") || r.Has(Rollout, "name") || !r.Has(Reverts, "c1") || !r.Has(Evidence, "sha256:e") || r.Has(Run, "") {
		t.Errorf("%v", r)
	}
}

func TestTextAboveTheTrailers(t *testing.T) {
	for message, want := range map[string]string{
		"a: fix it\n\nMore.\n\n" + Run.Of("r") + "\n" + Job.Of("a"): "a: fix it\n\nMore.",
		"a\n\nMillhand-Run: of the text.\n\n" + Run.Of("r"):         "a\n\nMillhand-Run: of the text.",
		"a\n\nSigned-off-by: B\n" + Run.Of("r"):                     "a\n\nSigned-off-by: B",
		"by hand\n":                                                 "by hand",
		"Millhand-Run: no":                                          "Millhand-Run: no",
	} {
		if got := Above(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
