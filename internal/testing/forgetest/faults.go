package forgetest

import (
	"net/http"
	"strings"
)

// Fault is something that a forge does instead of its work.
type Fault string

// The faults. Those that end in "after" happen after the request was fulfilled.
const (
	Limited      Fault = "limited"       // the primary rate limit: 403 of GitHub, else 429; ends at a time
	Secondary    Fault = "secondary"     // a secondary rate limit with Retry-After
	Abuse        Fault = "abuse"         // a secondary rate limit that has only a text
	Unavailable  Fault = "unavailable"   // 503
	BrokenAfter  Fault = "broken-after"  // 502
	Cut          Fault = "cut"           // the connection
	CutAfter     Fault = "cut-after"     // the connection
	GarbledAfter Fault = "garbled-after" // 200 with a page for people
	Elsewhere    Fault = "elsewhere"     // a redirect to another server
	Expired      Fault = "expired"       // 401
)

// Faults of requests that the forge does not accept, however often they are sent.
const (
	Denied  Fault = "denied"  // 403
	Invalid Fault = "invalid" // 422
	SSO     Fault = "sso"     // 403 of GitHub, with the address at which the token is authorized
)

// Refusals of GitHub that end after a while, with a status that usually is final.
const (
	TooQuickly Fault = "too-quickly" // 422, a limit on creations
	Modified   Fault = "modified"    // 405 of a merge, after another one
)

// Faults returns all faults except those of requests that are never accepted.
func Faults() []Fault {
	return []Fault{Limited, Secondary, Abuse, Unavailable, BrokenAfter, Cut, CutAfter, GarbledAfter, Elsewhere, Expired}
}

// Reset is the time in the headers of [Limited], as a Unix time; Wait is the seconds of
// [Secondary].
const (
	Reset = "2000000030"
	Wait  = "7"
)

// planned is a fault of the next calls that match.
type planned struct {
	Fault
	method, suffix string
	times          int
	page           string // of a list; "" for any
}

// Fail makes a fault of the next calls with a method and a suffix of the path, both ""
// for any.
func (s *Server) Fail(times int, fault Fault, method, suffix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &planned{fault, method, suffix, times, ""})
}

// FailPage is like Fail for one page of a list.
func (s *Server) FailPage(page string, times int, fault Fault, method, suffix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &planned{fault, method, suffix, times, page})
}

// next returns the fault of a call, nil for none.
func (s *Server) next(c *Call) *planned {
	for _, f := range s.faults {
		if f.times > 0 && (f.method == "" || f.method == c.Method) && strings.HasSuffix(c.Path, f.suffix) && (f.page == "" || f.page == c.Query.Get("page")) {
			f.times--
			return f
		}
	}
	return nil
}

func (f *planned) after() bool { return strings.HasSuffix(string(f.Fault), "-after") }

// reply returns the response of a fault; nil cuts the connection.
func (f *planned) reply(kind string) *reply {
	r := &reply{header: http.Header{"Content-Type": {"application/json"}}}
	limited := http.StatusForbidden
	prefix := "X-RateLimit-"
	if kind != "github" {
		limited, prefix = http.StatusTooManyRequests, "RateLimit-"
	}
	switch f.Fault {
	case TooQuickly:
		r.status, r.body = http.StatusUnprocessableEntity, []byte(`{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom", "message": "was submitted too quickly"}]}`)
	case Modified:
		r.status, r.body = http.StatusMethodNotAllowed, []byte(`{"message": "Base branch was modified. Review and try the merge again."}`)
	case SSO:
		r.status, r.body = http.StatusForbidden, []byte(`{"message": "Resource protected by organization SAML enforcement."}`)
		r.header.Set("X-GitHub-SSO", "required; url=https://github.com/orgs/acme/sso?authorization_request=A")
	case Limited:
		r.status = limited
		r.header.Set(prefix+"Remaining", "0")
		r.header.Set(prefix+"Reset", Reset)
		r.body = []byte(`{"message": "API rate limit exceeded"}`)
	case Secondary:
		r.status = limited
		r.header.Set("Retry-After", Wait)
		r.body = []byte(`{"message": "You have exceeded a secondary rate limit"}`)
	case Abuse:
		r.status = limited
		r.body = []byte(`{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`)
	case Unavailable:
		r.status = http.StatusServiceUnavailable
		r.body = []byte("<html>down for maintenance</html>")
	case BrokenAfter:
		r.status = http.StatusBadGateway
		r.body = []byte("<html>bad gateway</html>")
	case GarbledAfter:
		r.status = http.StatusOK
		r.body = []byte("<html>hello</html>")
	case Elsewhere:
		r.status = http.StatusTemporaryRedirect
		r.header.Set("Location", "http://localhost:9/login")
	case Expired:
		r.status = http.StatusUnauthorized
		r.body = []byte(`{"message": "Bad credentials"}`)
	case Denied:
		r.status = http.StatusForbidden
		r.body = []byte(`{"message": "Resource not accessible by integration"}`)
	case Invalid:
		r.status = http.StatusUnprocessableEntity
		r.body = []byte(`{"message": "Validation Failed"}`)
	default:
		return nil
	}
	return r
}
