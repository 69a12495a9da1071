package report

import (
	"slices"

	"github.com/millhand/millhand/internal/event"
)

// requests are what the agent of a job requested on the forge.
type requests []event.ForgeRequest

// take adds a request, or replaces that of an earlier process.
func (all *requests) take(r event.ForgeRequest) {
	if at := slices.IndexFunc(*all, func(other event.ForgeRequest) bool { return other.ID == r.ID }); at >= 0 {
		(*all)[at] = r
		return
	}
	*all = append(*all, r)
}

// list returns the requests as a report has them.
func (all requests) list() []Request {
	list := []Request{}
	for _, r := range all {
		list = append(list, Request{Kind: r.Kind, Label: r.Label, Title: r.Title, Body: r.Body, Outcome: r.Outcome, Reason: r.Reason, URL: r.URL})
	}
	return list
}
