package html

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
)

// hunks is the section about what verify needs of a change; nil without it.
func hunks(a *event.Hunks) g.Node {
	if a == nil {
		return nil
	}
	content := []g.Node{h.H3(g.Text("Hunks")), h.P(text(a.Line()+"."), g.Text(" "+figures.Count(a.Runs, "run")+" of verify, "+figures.Duration(a.ElapsedMS)+"."))}
	if a.Reason != "" {
		content = append(content, h.P(text("Not tried: "+cut(a.Reason, maxReason))))
	}
	notes := a.Notes()
	var items []g.Node
	for _, n := range notes[:min(len(notes), maxChanges)] {
		items = append(items, h.Li(text(n.What+": "), code(cut(n.About, maxReason))))
	}
	for _, one := range a.List[:min(len(a.List), maxChanges)] {
		if one.State == "needed" {
			items = append(items, h.Li(code(one.String()), text(" needed by "), code(one.By)))
		}
	}
	return h.Section(append(content, h.Ul(items...))...)
}
