package policy

import "testing"

func TestAllowsLabel(t *testing.T) {
	for _, tt := range []struct {
		list  []string
		label string
		want  bool
	}{
		{nil, "bug", false},
		{[]string{"bug"}, "bug", true},
		{[]string{"bug"}, "Bug", false},
		{[]string{"bug"}, "bugs", false},
		{[]string{"ok", "area/*"}, "area/ui", true},
		{[]string{"area/*"}, "area/", true},
		{[]string{"area/*"}, "are", false},
		{[]string{"area/*"}, "xarea/ui", false},
		{[]string{"*"}, "", true},
		{[]string{"*/ui"}, "area/ui", true},
		{[]string{"*/ui"}, "area/uix", false},
		{[]string{"a*b*c"}, "aXbYc", true},
		{[]string{"a*b*c"}, "ac", false},
		{[]string{"ab*b"}, "ab", false},
		{[]string{"a?"}, "ab", false},
		{[]string{"area/*"}, "area/*", true},
		{[]string{"area/*"}, "*", false},
		{[]string{"*"}, "a*b", true},
		{[]string{"a*b"}, "a*", false},
	} {
		if got := AllowsLabel(tt.list, tt.label); got != tt.want {
			t.Errorf("%q in %q: %v", tt.label, tt.list, got)
		}
	}
}

func TestRefusesRequests(t *testing.T) {
	s := Set{{}, {Requests: &Requests{Labels: []string{"area/*"}, Max: map[string]int{"labels": 2, "comment": 1}, Source: "p.yaml:3"}}}
	for _, tt := range []struct {
		kind   string
		most   int
		labels []string
		want   string
	}{
		{"labels", 2, []string{"area/*", "area/ui"}, ""},
		{"labels", 3, []string{"area/*"}, "publish.requests.labels: max 3 (the policy's is 2)"},
		{"labels", 1, []string{"area/ui", "bug"}, `publish.requests.labels: "bug"`},
		{"comment", 1, nil, ""},
		{"issue", 1, nil, "publish.requests.issue: max 1 (the policy's is 0)"},
	} {
		by, what := s.RefusesRequests(tt.kind, tt.most, tt.labels)
		if what != tt.want || what != "" && by.By() != "requests (p.yaml:3)" {
			t.Errorf("%s %d %q: %q by %s, want %q", tt.kind, tt.most, tt.labels, what, by.By(), tt.want)
		}
	}
	if _, what := (Set{{}}).RefusesRequests("issue", 20, nil); what != "" {
		t.Error(what)
	}
}
