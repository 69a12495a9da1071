package manifest

import (
	"strconv"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/template"
)

// Comment is where the final message of a task is posted.
type Comment struct {
	form.Value
	Issue, Pull *template.Template
	Sticky      bool
	Inline      bool
}

var (
	commentForm = form.Of[Comment]{Type: form.TypeOf((*Comment).keys), Read: readComment}

	// threadForm is the form of the number of an issue or pull request.
	threadForm = form.Of[template.Template]{Type: form.Type{Name: "integer", Min: 1, Or: new(form.ScalarType())}, Read: readThread}
)

// readComment reads on which issue or pull request a task comments.
func readComment(v form.Value) (Comment, bool) {
	c := form.WithDefaults((*Comment).keys)
	c.Value = v
	got := c.keys().Read(v)
	v.Refused(policy.Publish, "publish.comment", policy.Comment)
	_, issue := got["issue"]
	_, pull := got["pull_request"]
	if v.IsMapping() && !issue && !pull {
		v.Lacks("issue", "write issue: N or pull_request: N")
	}
	oneSource(got, "issue", "pull_request")
	if issue && c.Inline {
		got["inline"].Problem("inline is not supported for an issue: it has no diff", "remove it, or write pull_request: N")
	}
	return c, true
}

// readThread reads a number, or a text with variables that is one when they are filled in.
func readThread(v form.Value) (template.Template, bool) {
	t, ok := v.Scalar()
	if !ok {
		return template.Template{}, false
	}
	number := template.ParseTemplate(t)
	if len(number.Segments) == 1 && ThreadNumber(t.S) == 0 {
		v.Wrong("the number of an issue or pull request", "write for example 12, or ${{ env.PR_NUMBER }}")
		return template.Template{}, false
	}
	return number, true
}

// ThreadNumber returns the number of an issue or pull request; 0 for an invalid one.
func ThreadNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0
	}
	return n
}

func (c *Comment) keys() form.Table {
	return form.Table{
		{Name: "issue", Field: form.Into(&c.Issue, form.Optional(threadForm)), Doc: "Number of the issue; may contain ${{ VARIABLE }}"},
		{Name: "pull_request", Field: form.Into(&c.Pull, form.Optional(threadForm)), Doc: "Number of the pull request or merge request; may contain ${{ VARIABLE }}"},
		{Name: "sticky", Field: form.Into(&c.Sticky, form.Bool), Def: "false", Doc: "Update the comment of earlier runs of the job instead of adding one"},
		{Name: "inline", Field: form.Into(&c.Inline, form.Bool), Def: "false", Doc: "Make findings on lines of the diff comments there; the comment has the others"},
	}
}
