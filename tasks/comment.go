package tasks

import (
	"strconv"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// comment is where the final message of a task is posted.
type comment struct {
	value
	issue, pull *template
	sticky      bool
}

var (
	commentForm = form[comment]{typeOf((*comment).keys), readComment}

	// threadForm is the form of the number of an issue or pull request.
	threadForm = form[template]{Type{Name: "integer", Min: 1, Or: new(scalarType())}, readThread}
)

// readComment reads on which issue or pull request a task comments.
func readComment(v value) (comment, bool) {
	c := withDefaults((*comment).keys)
	c.value = v
	got := c.keys().read(v)
	v.refused(policy.Publish, "publish.comment", policy.Comment)
	_, issue := got["issue"]
	_, pull := got["pull_request"]
	if v.isMapping() && !issue && !pull {
		v.lacks("issue", "write issue: N or pull_request: N")
	}
	oneSource(got, "issue", "pull_request")
	return c, true
}

// readThread reads a number, or a text with variables that is one when they are filled in.
func readThread(v value) (template, bool) {
	t, ok := v.scalar()
	if !ok {
		return template{}, false
	}
	number := parseTemplate(t)
	if len(number.segments) == 1 && threadNumber(t.s) == 0 {
		v.wrong("the number of an issue or pull request", "write for example 12, or ${{ env.PR_NUMBER }}")
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

// of returns the comment of a job; nil without one, and if the mode of the command line,
// "" for none, publishes only on this machine.
func (c *comment) of(s scope, mode PublishMode) *Comment {
	if c == nil || mode != "" && !mode.Pushes() {
		return nil
	}
	from := c.issue
	if from == nil {
		from = c.pull
	}
	if from == nil {
		return nil // reported
	}
	text, ok := from.render(s)
	n := threadNumber(text)
	if ok && n == 0 {
		from.problem("invalid number "+problem.Quote(text)+" of an issue or pull request", "write for example 12, or a variable with such a value")
	}
	return &Comment{Number: n, Issue: c.issue != nil, Sticky: c.sticky}
}

func (c *comment) keys() keys {
	return keys{
		{"issue", into(&c.issue, optional(threadForm)), "", "Number of the issue; may contain ${{ VARIABLE }}"},
		{"pull_request", into(&c.pull, optional(threadForm)), "", "Number of the pull request or merge request; may contain ${{ VARIABLE }}"},
		{"sticky", into(&c.sticky, boolForm), "false", "Update the comment of earlier runs of the job instead of adding one"},
	}
}
