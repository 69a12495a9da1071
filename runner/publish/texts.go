package publish

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/tasks"
)

// Facts are what the texts of a pull request say about a job. Texts of the job are
// redacted, and may be of a model: they are made harmless.
type Facts struct {
	Run, Task string
	Name      string // of the manifest; "" if it is unknown
	RunURL    string // of the CI run that has the report; "" without one
	Pull      string // URL of the job's pull request, for a comment elsewhere; "" without one
	Message   string // of the commit
	Session   *Session
	Verify    []Verify         // that passed after the change
	Hunks     string           // which hunks of the changes the verify commands need, in one line; "" if that is not known
	Review    *findings.Review // the output as findings; nil for others
	Reviewed  *event.Review    // of the changes, with the objections that are left; nil for none
	OnLines   int              // findings that are comments on lines, and not in Review
	LeftOut   []event.LeftOutPath
}

// Session is how a change was made; nil in [Facts] if an earlier run did.
type Session struct {
	Summary        string // final message of the agent
	Model, Profile string
	Turns, Denied  int
	CostUSD        *money.USD        // nil if unknown
	Models         []event.ModelCost // of a job that has escalated; nil for others
}

// Verify is a verify command and its result before the change.
type Verify struct{ Name, Before string }

// Title returns the title of the pull request. It is made from the commit message if the
// template is empty.
func (f Facts) Title(template string) string {
	if template == "" {
		template, _, _ = strings.Cut(f.Message, "\n")
	}
	f.RunURL = "" // titles have no links
	return titleText(f.fill(template, ""))
}

// Body returns the description of the pull request.
func (f Facts) Body(template string) string {
	if template == "" {
		template = "${{ summary }}\n\n${{ verify }}\n\n" + f.reviewVariable() + f.leftOut() + f.origin()
	} else if f.Reviewed != nil && !strings.Contains(template, "${{ review }}") {
		template += "\n\n${{ review }}" // nobody is to merge without the objections
	}
	return bodyText(f.fill(template, patternsStart+"\n"+patternsEnd))
}

// leftOut names files that the commit leaves out.
func (f Facts) leftOut() string {
	if len(f.LeftOut) == 0 {
		return ""
	}
	return "Left out of the commit, because the agent did not make them: " + strings.ReplaceAll(cell(event.FirstLeftOut(f.LeftOut)), "${{", "$ {{") + "\n\n"
}

// fill fills in the variables of the job's result. Nothing in their values is a
// variable again.
func (f Facts) fill(text, patterns string) string {
	values := map[string]string{"summary": f.summary(), "verify": f.verified(), "cost": f.cost(), "report": f.report(), "patterns": patterns, "review": f.reviewed()}
	var pairs []string
	for _, name := range tasks.ResultVariables() {
		pairs = append(pairs, "${{ "+name+" }}", values[name])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// summary returns the final message of the agent as text that does nothing on a forge.
func (f Facts) summary() string {
	if f.Session == nil {
		return "This branch was committed by an earlier run."
	}
	return harmless(f.Session.Summary)
}

func (f Facts) cost() string {
	if f.Session == nil {
		return "unknown"
	}
	return money.Rounded(f.Session.CostUSD)
}

// verified returns a table of the verify commands. All of them passed after the change.
func (f Facts) verified() string {
	if len(f.Verify) == 0 {
		return "No verify commands."
	}
	var b strings.Builder
	b.WriteString("| verify | before | after |\n|---|---|---|\n")
	for _, v := range f.Verify {
		fmt.Fprintf(&b, "| %s | %s | passed |\n", cell(v.Name), v.Before)
	}
	if f.Hunks != "" {
		b.WriteString("\n" + f.Hunks + ".\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// reviewVariable returns the variable of the review with an empty line after it; "" without a review.
func (f Facts) reviewVariable() string {
	if f.Reviewed == nil {
		return ""
	}
	return "${{ review }}\n\n"
}

// reviewed returns the verdict of the review, with the objections that are left.
func (f Facts) reviewed() string {
	r := f.Reviewed
	if r == nil {
		return "No review."
	}
	var b strings.Builder
	switch fmt.Fprintf(&b, "Review by %s: ", cell(r.Model)); r.Verdict {
	case event.ReviewAccepted, event.ReviewRejected:
		b.WriteString(string(r.Verdict))
	case event.NotReviewed:
		b.WriteString("not reviewed, " + cellHead(r.Reason, maxFinding))
	}
	for i, o := range r.Objections {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString("\n- " + cellHead(o, maxFinding))
	}
	return b.String()
}

// report names the run, with the URL of the CI run that has its report.
func (f Facts) report() string {
	return markdown.Hyperlink("millhand run "+cell(f.Run), f.RunURL)
}

// models names the model, or each of several with what it cost.
func (s *Session) models() string {
	if len(s.Models) == 0 {
		return "model " + cell(s.Model)
	}
	var each []string
	for _, m := range s.Models {
		each = append(each, fmt.Sprintf("%s (%s)", cell(m.Model), money.Rounded(m.CostUSD)))
	}
	return "models " + strings.Join(each, ", ")
}

// origin returns what a reviewer needs to know of how the change was made.
func (f Facts) origin() string {
	list := []string{"Task " + cell(f.Task)}
	if f.Name != "" {
		list[0] += " of " + cell(f.Name)
	}
	if s := f.Session; s != nil {
		list = append(list, s.models(), "profile "+cell(s.Profile),
			figures.Count(s.Turns, "turn"), "cost "+f.cost(), figures.Count(s.Denied, "denied call"))
	}
	return "<sub>" + strings.Join(append(list, f.report()), " · ") + "</sub>"
}
