package repolist

import (
	"net/url"
	"strings"

	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// ForgeHost returns a host in lower case, without the default port.
func ForgeHost(written string) (string, bool) {
	u, err := url.Parse("//" + written)
	if err != nil || u.Host != written || u.Hostname() == "" || strings.ContainsAny(written, "*, ") || strings.HasSuffix(written, ":") {
		return "", false
	}
	return strings.TrimSuffix(strings.ToLower(written), ":443"), true
}

var sourceHostForm = form.Of[string]{Type: form.Type{Name: "string"}, Read: func(v form.Value) (string, bool) {
	t, ok := v.Filled()
	if !ok {
		return "", false
	}
	host, valid := ForgeHost(t.S)
	if !valid {
		v.Problem("invalid host "+problem.Quote(t.S), "write HOST or HOST:PORT, such as git.example.com")
	}
	return host, valid
}}
