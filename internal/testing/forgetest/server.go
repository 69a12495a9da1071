// Package forgetest serves a forge for tests, as GitHub, GitLab or Gitea would: what
// millhand uses of their APIs, with the faults that they have in practice.
package forgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Repo is a repository of the forge.
type Repo struct {
	Owner, Name string
	Default     string // branch; "" is main
	Description string
	Language    string
	Topics      []string
	Archived    bool
	Empty       bool   // without a commit
	Private     bool   // of a user: only lists of the token's own repositories have it
	Parent      string // OWNER/NAME of what it is a fork of
	NoPush      bool   // for the token
	NoPulls     bool   // refuses pull requests with a reason
	id          int64
	lastPull    int64
}

func (r *Repo) path() string { return r.Owner + "/" + r.Name }

// Pull is a pull request of the forge.
type Pull struct {
	Repo, Head       string // OWNER/NAME of the target and of the head's repository
	Number           int64
	Branch, Base     string
	Created          string // RFC 3339; "" is long ago
	Minutes          int    // that its checks have run
	SHA              string // of the head, when it was created
	Title, Body      string
	Draft            bool
	State            string // open, closed or merged
	Labels           []string
	Assignees        []string
	Reviewers, Teams []string
	Checks           string // success, failure, pending, or "" for none
	Conflict         bool   // it can't be merged
	Review           string // that blocks it, as GitHub names it: REVIEW_REQUIRED or CHANGES_REQUESTED; "" for none
	Updated          string // RFC 3339; "" is in the future
	Diff             string // of git; "" is that of Compare
	Checking         int    // of Gitea: number of requests to merge that are refused because it is checking
}

// Commit is a commit that the forge makes.
type Commit struct {
	Repo, Branch, Parent string
	Message              string
	Files                map[string]string // contents by path
	Deleted              []string
}

// Note is a comment of the forge.
type Note struct {
	ID     int64
	Repo   string
	Number int64
	Issue  bool // of GitLab; elsewhere issues and pull requests share their numbers
	Author string
	Bot    bool
	Body   string

	Kind  string // "", ReviewNote or LineNote; GitLab has only comments
	State string // of a review, such as COMMENTED
	Path  string // of the file that it is on
	Line  int

	At, Edited string // RFC 3339; "" is in the order of the ids

	Review   int64 // id of the review that it belongs to, of Gitea; 0 for any
	Resolved bool  // its thread
}

// The kinds of notes that are not comments.
const (
	ReviewNote = "review"
	LineNote   = "line"
)

// Call is a request that the server received, and its response.
type Call struct {
	Method, Path string // below the API's base, escaped
	Query        url.Values
	Header       http.Header
	Body         []byte
	Status       int // 0 if the connection was cut
	Response     []byte
	Fault        Fault // "" for none
}

// Server is a forge. Its fields must not change while it serves.
type Server struct {
	Kind  string   // github, gitlab or gitea
	Token string   // the valid one; "" accepts all requests
	User  string   // of the token; "" for a token of an app
	Users []string // other users

	Page   int    // maximum page size; 0 is 50
	Tokens Tokens // kinds of tokens other than Token
	// NoLabels are labels that do not exist; those of GitHub and GitLab are created.
	NoLabels []string
	Hidden   Hidden
	Review   Review
	// Resolve returns the commit of a branch, "" if it does not exist. nil: all exist.
	Resolve func(repo, branch string) string
	// Commit makes a commit on a branch that is at its parent, and returns its hash: the
	// function of GraphQL. nil: the hash has only digits 7.
	Commit func(c Commit) (hash string, err error)
	// Message returns the message and the first parent of a commit. nil: both are "".
	Message func(repo, sha string) (message, parent string)
	// Compare returns git's diff of a branch and a commit, from where they parted. nil: none.
	Compare func(repo, base, sha string) string
	// Forked is called with the paths of a new fork and its parent. May be nil.
	Forked func(fork, parent string)
	// Other serves what is not the API: the repositories. May be nil.
	Other http.Handler
	// Log gets a line for each call. May be nil.
	Log io.Writer

	mu     sync.Mutex
	repos  []*Repo
	pulls  []*Pull
	notes  []*Note
	issues []*Issue
	calls  []Call
	faults []*planned
	lastID int64
	routes *http.ServeMux
}

// Tokens has what tokens are like.
type Tokens struct {
	Scopes []string // those of a classic token of GitHub; nil for another token
	Bot    string   // of a token without a user, of GitHub; "" is app[bot]
	// Accepts reports whether a token is valid, which may change. nil: only the server's is.
	Accepts func(token string) bool
}

// Hidden is what lists lack because the token can't see it.
type Hidden struct {
	Entries int  // of each list that are counted and not sent, of GitLab and Gitea
	BySSO   bool // GitHub's lists lack what single sign-on hides
}

// Add adds repositories.
func (s *Server) Add(repos ...Repo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range repos {
		s.add(r)
	}
}

// Change changes a repository, OWNER/NAME, which is added if it does not exist.
func (s *Server) Change(path string, change func(*Repo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo(path)
	if r == nil {
		i := strings.LastIndex(path, "/")
		r = s.add(Repo{Owner: path[:i], Name: path[i+1:]})
	}
	change(r)
}

func (s *Server) add(r Repo) *Repo {
	s.lastID++
	r.id = s.lastID
	if r.Default == "" {
		r.Default = "main"
	}
	s.repos = append(s.repos, &r)
	return &r
}

// AddPull adds a pull request.
func (s *Server) AddPull(p Pull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls = append(s.pulls, &p)
	if r := s.repo(p.Repo); r != nil {
		r.lastPull = max(r.lastPull, p.Number)
	}
}

// AddNote adds a comment.
func (s *Server) AddNote(n Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	n.ID = s.lastID
	s.notes = append(s.notes, &n)
}

// Pulls returns the pull requests.
func (s *Server) Pulls() []Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Pull
	for _, p := range s.pulls {
		all = append(all, *p)
	}
	return all
}

// Notes returns the comments.
func (s *Server) Notes() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Note
	for _, n := range s.notes {
		all = append(all, *n)
	}
	return all
}

// Calls returns the requests so far.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// SetToken replaces the valid token.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Token = token
}

// prefix returns the path of the API.
func (s *Server) prefix() string {
	return map[string]string{"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}[s.Kind]
}

// ServeHTTP serves the API and, beside it, the repositories.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below, ok := strings.CutPrefix(r.URL.EscapedPath(), s.prefix())
	if s.Kind == "github" && r.URL.Path == "/api/graphql" {
		below, ok = "/graphql", true
	}
	if strings.HasPrefix(r.URL.Path, logPath) {
		s.serveLog(w, r)
		return
	}
	if !ok {
		if s.Other == nil {
			http.NotFound(w, r)
			return
		}
		s.Other.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	c := Call{Method: r.Method, Path: below, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body}
	res := s.respond(&c, r)
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	if s.Log != nil {
		fmt.Fprintf(s.Log, "%s %s %d %s\n", c.Method, c.Path, c.Status, c.Fault) // one write a line
	}
	if res == nil {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	maps.Copy(w.Header(), res.header)
	w.WriteHeader(res.status)
	_, _ = w.Write(res.body)
}

// reply is a response; nil cuts the connection.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// respond makes the response to a call, and completes the call.
func (s *Server) respond(c *Call, r *http.Request) *reply {
	fault := s.next(c)
	var res *reply
	switch {
	case fault == nil || fault.after():
		res = s.handle(c, r)
	}
	if fault != nil {
		c.Fault = fault.Fault
		res = fault.reply(s.Kind)
	}
	if res != nil {
		c.Status, c.Response = res.status, res.body
	}
	return res
}

// handle handles a call without a fault.
func (s *Server) handle(c *Call, r *http.Request) *reply {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if s.Tokens.Accepts != nil && !s.Tokens.Accepts(token) || s.Tokens.Accepts == nil && s.Token != "" && token != s.Token {
		return s.refuse(http.StatusUnauthorized, "Bad credentials")
	}
	if s.routes == nil {
		s.routes = http.NewServeMux()
		if s.Kind == "gitlab" {
			lab{s}.routes(s.routes)
		} else {
			rest{s}.routes(s.routes)
		}
	}
	inner := r.Clone(r.Context())
	inner.URL.RawPath = c.Path
	inner.URL.Path, _ = url.PathUnescape(c.Path) // was valid before
	inner.Body = io.NopCloser(bytes.NewReader(c.Body))
	rec := &recorder{reply{status: http.StatusOK, header: http.Header{}, body: nil}}
	if s.Kind == "github" && s.Tokens.Scopes != nil {
		rec.header.Set("X-OAuth-Scopes", strings.Join(s.Tokens.Scopes, ", "))
	}
	s.routes.ServeHTTP(rec, inner)
	return &rec.reply
}

// recorder is a ResponseWriter that keeps the response.
type recorder struct{ reply }

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.body = append(r.body, p...)
	return len(p), nil
}

// refuse returns an error in the form of the forge.
func (s *Server) refuse(status int, text string) *reply {
	doc := map[string]any{"message": text}
	switch s.Kind {
	case "github":
		doc["documentation_url"], doc["status"] = "https://docs.github.com/rest", strconv.Itoa(status)
	case "gitea":
		doc["url"] = "https://gitea.example/api/swagger"
	}
	body, _ := json.Marshal(doc) // has only strings
	return &reply{status, http.Header{"Content-Type": {"application/json"}}, body}
}

// refusal is an error that a handler returns.
type refusal struct {
	status int
	text   string
}

// Error implements error.
func (r refusal) Error() string { return r.text }

func notFound(what string) error { return refusal{http.StatusNotFound, what + " Not Found"} }

// handler handles a request and returns the document of the response.
type handler func(r *http.Request) (status int, doc any, err error)

// on adds a route.
func (s *Server) on(mux *http.ServeMux, pattern string, h handler) {
	mux.HandleFunc(pattern, s.handler(h))
}

// handler returns the function that serves a handler.
func (s *Server) handler(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, doc, err := h(r)
		res := &reply{status: status, header: http.Header{"Content-Type": {"application/json"}}}
		if list, ok := doc.([]any); ok && err == nil {
			doc = s.paged(r, list, res.header)
		}
		if err != nil {
			refused, ok := err.(refusal) //nolint:errorlint // handlers don't wrap it
			if !ok {
				refused = refusal{http.StatusBadRequest, err.Error()}
			}
			res = s.refuse(refused.status, refused.text)
		} else if doc != nil {
			res.body, _ = json.Marshal(doc) // has only maps, lists and scalars
		}
		maps.Copy(w.Header(), res.header)
		w.WriteHeader(res.status)
		_, _ = w.Write(res.body)
	}
}

// paged returns one page of a list, and announces the next one as the forge does.
func (s *Server) paged(r *http.Request, list []any, h http.Header) []any {
	size := s.Page
	if size == 0 {
		size = 50
	}
	query := r.URL.Query()
	for _, key := range []string{"per_page", "limit"} {
		if n, err := strconv.Atoi(query.Get(key)); err == nil && n < size {
			size = n
		}
	}
	switch s.Kind {
	case "gitlab":
		h.Set("X-Total", strconv.Itoa(len(list)+s.Hidden.Entries))
	case "gitea":
		h.Set("X-Total-Count", strconv.Itoa(len(list)+s.Hidden.Entries))
	}
	if s.Hidden.BySSO {
		h.Set("X-GitHub-SSO", "partial-results; organizations=4711")
	}
	page, err := strconv.Atoi(query.Get("page"))
	if err != nil {
		page = 1
	}
	from := min((page-1)*size, len(list))
	to := min(from+size, len(list))
	if s.Kind == "gitea" && strings.HasSuffix(r.URL.Path, "/comments") { // has no pages of these
		from, to = 0, len(list)
	}
	if to < len(list) {
		query.Set("page", strconv.Itoa(page+1))
		switch {
		case s.Kind == "gitlab":
			h.Set("X-Next-Page", strconv.Itoa(page+1))
		case s.Kind == "gitea" && (strings.HasSuffix(r.URL.Path, "/reviews") || strings.HasSuffix(r.URL.Path, "/labels")):
			// Gitea announces only the number of all entries.
		default:
			h.Set("Link", fmt.Sprintf(`<http://%s%s%s?%s>; rel="next", <http://%[1]s%s%s?page=99>; rel="last"`, r.Host, s.prefix(), r.URL.EscapedPath(), query.Encode(), s.prefix(), r.URL.EscapedPath()))
		}
	}
	return append([]any{}, list[from:to]...)
}
