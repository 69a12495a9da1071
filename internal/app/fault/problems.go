package fault

import (
	"errors"

	"github.com/millhand/millhand/tasks/problem"
)

// Refused is the error of invalid manifests. Its text does not include their problems.
type Refused struct {
	Problems problem.List
	Text     string
}

func (r Refused) Error() string { return r.Text }

// ProblemsOf returns the problems of invalid manifests; nil for other errors.
func ProblemsOf(err error) problem.List {
	var r Refused
	errors.As(err, &r)
	return r.Problems
}
