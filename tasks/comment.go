package tasks

import (
	"strconv"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
)

// comment is where the final message of a task is posted.
type comment struct {
	form.Value
	issue, pull *template
	sticky      bool
}

var (
	commentForm = form.Of[comment]{Type: form.TypeOf((*comment).keys), Read: readComment}

	// threadForm is the form of the number of an issue or pull request.
	threadForm = form.Of[template]{Type: form.Type{Name: "integer", Min: 1, Or: new(form.ScalarType())}, Read: readThread}
)

// readComment reads on which issue or pull request a task comments.
func readComment(v form.Value) (comment, bool) {
	c := form.WithDefaults((*comment).keys)
	c.Value = v
	got := c.keys().Read(v)
	v.Refused(policy.Publish, "publish.comment", policy.Comment)
	_, issue := got["issue"]
	_, pull := got["pull_request"]
	if v.IsMapping() && !issue && !pull {
		v.Lacks("issue", "write issue: N or pull_request: N")
	}
	oneSource(got, "issue", "pull_request")
	return c, true
}

// readThread reads a number, or a text with variables that is one when they are filled in.
func readThread(v form.Value) (template, bool) {
	t, ok := v.Scalar()
	if !ok {
		return template{}, false
	}
	number := parseTemplate(t)
	if len(number.segments) == 1 && threadNumber(t.S) == 0 {
		v.Wrong("the number of an issue or pull request", "write for example 12, or ${{ env.PR_NUMBER }}")
		return template{}, false
	}
	return number, true
}

// threadNumber returns the number of an issue or pull request; 0 for an invalid one.
func threadNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0
	}
	return n
}

func (c *comment) keys() form.Table {
	return form.Table{
		{Name: "issue", Field: form.Into(&c.issue, form.Optional(threadForm)), Doc: "Number of the issue; may contain ${{ VARIABLE }}"},
		{Name: "pull_request", Field: form.Into(&c.pull, form.Optional(threadForm)), Doc: "Number of the pull request or merge request; may contain ${{ VARIABLE }}"},
		{Name: "sticky", Field: form.Into(&c.sticky, form.Bool), Def: "false", Doc: "Update the comment of earlier runs of the job instead of adding one"},
	}
}
