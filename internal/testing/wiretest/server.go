package wiretest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
)

// Server plays a script to whoever posts to a path that ends in
// /chat/completions, /responses or /messages, on the wire that belongs there. It
// is an [http.Handler]. Set the exported fields before it
// serves.
type Server struct {
	Fault func(n int) Fault // what happens to the n-th request, from 0; nil for none
	Chunk int               // bytes of text or arguments in one chunk; 0 is 24
	Keep  bool              // keep the requests for Requests
	Obey  bool              // charge for no more output than a request asks for at most

	// Play answers in place of the script, which may be nil then. The usage is
	// counted if the turn states none.
	Play func(Request) *script.Turn
	// Window refuses longer requests, in tokens as [Request.Tokens] counts them;
	// 0 accepts all.
	Window int64

	script *script.Script

	mu       sync.Mutex
	served   int
	usage    money.Usage
	requests []Request
	problems []error
	failed   map[[sha256.Size]byte]int // error turns served, by the request's bytes
}

// New returns a server of s.
func New(s *script.Script) *Server {
	return &Server{script: s, failed: map[[sha256.Size]byte]int{}}
}

// Served returns how many requests came, faulty ones included.
func (s *Server) Served() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// Usage returns the sum of the usage of all turns that were answered.
func (s *Server) Usage() money.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

// Requests returns what came, in order, if Keep is set.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Problems returns the requests that the script did not expect, or expected
// otherwise.
func (s *Server) Problems() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.problems...)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	on := wireAt(r.URL.Path)
	if r.Method != http.MethodPost || on == "" {
		refuse(w, Chat, http.StatusNotFound, "", "there is nothing at "+r.Method+" "+r.URL.Path)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	req, err := parse(on, r.Header, body)
	req.Query = r.URL.RawQuery
	if err != nil {
		s.addProblem(w, on, err)
		return
	}
	fault := s.accept(req)
	if fault.replaces(w, r) {
		return
	}
	if n := req.Tokens(); s.Window > 0 && n > s.Window {
		refuse(w, on, http.StatusBadRequest, model.ClassContext, fmt.Sprintf("the model's maximum context length is %d tokens, and these are %d", s.Window, n))
		return
	}
	turn, err := s.nextTurn(req)
	switch {
	case err != nil:
		s.addProblem(w, on, err)
	case turn.Error != nil:
		fail(w, on, turn.Error)
	default:
		turn = s.orderRespected(req, turn)
		s.recordTurn(turn)
		fault.send(w, r, stream(req, turn, s.Chunk))
	}
}

// accept books the request and returns what is to happen to it.
func (s *Server) accept(req Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.served
	s.served++
	if s.Keep {
		s.requests = append(s.requests, req)
	}
	if s.Fault == nil {
		return Fault{}
	}
	return s.Fault(n)
}

// nextTurn returns the turn that answers req, checked.
func (s *Server) nextTurn(req Request) (*script.Turn, error) {
	if s.Play != nil {
		return counted(s.Play(req), req), nil
	}
	turns, err := s.script.Turns(req.Model)
	if err != nil { // a model that is no agent plays the main turns
		if turns, err = s.script.Turns(""); err != nil {
			return nil, err
		}
	}
	turn := s.pick(turns, req)
	if turn == nil {
		return nil, fmt.Errorf("unexpected request: the script has no turn after %d answers", req.Responses())
	}
	return turn, turn.Check(req.Conversation())
}

// counted is a turn with its usage.
func counted(t *script.Turn, req Request) *script.Turn {
	if t.Usage == nil && t.Error == nil {
		size := len(t.Text) + len(t.Reasoning)
		for _, c := range t.Calls {
			size += len(c.Input)
		}
		t.Usage = &money.Usage{Input: req.Tokens(), Output: int64(size)/4 + 1}
	}
	return t
}

// pick passes over as many answers as req holds. Error turns before the next
// answer come first, each once.
func (s *Server) pick(turns []script.Turn, req Request) *script.Turn {
	responses, failures := req.Responses(), 0
	for i := range turns {
		turn := &turns[i]
		switch {
		case responses > 0:
			if turn.Error == nil {
				responses--
			}
		case turn.Error == nil:
			return turn
		case s.fails(req, failures):
			return turn
		default:
			failures++
		}
	}
	return nil
}

// fails reports whether req has met n error turns so far, and counts the next.
func (s *Server) fails(req Request, n int) bool {
	key := sha256.Sum256(req.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed[key] != n {
		return false
	}
	s.failed[key]++
	return true
}

// orderRespected is a turn that keeps to the most of output that a request asks for, as
// far as the usage says.
func (s *Server) orderRespected(req Request, turn *script.Turn) *script.Turn {
	most := req.most()
	if !s.Obey || turn.Usage == nil || most == 0 || turn.Usage.Output <= most {
		return turn
	}
	limited, usage := *turn, *turn.Usage
	usage.Output, usage.Reasoning = most, min(usage.Reasoning, most)
	limited.Usage = &usage
	return &limited
}

func (s *Server) recordTurn(turn *script.Turn) {
	u := turn.Response().Usage
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.Input += u.Input
	s.usage.Output += u.Output
	s.usage.Reasoning += u.Reasoning
	s.usage.CacheRead += u.CacheRead
	s.usage.CacheWrite += u.CacheWrite
}

func (s *Server) addProblem(w http.ResponseWriter, on Wire, err error) {
	s.mu.Lock()
	s.problems = append(s.problems, err)
	s.mu.Unlock()
	refuse(w, on, http.StatusBadRequest, model.ClassScript, err.Error())
}

// fail responds with a scripted failure. One without a status is a stream that
// ends too early.
func fail(w http.ResponseWriter, on Wire, e *model.Error) {
	if e.RetryAfter >= 0 {
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10))
	}
	if e.Status == 0 {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[]}\n\n") // the client sees what is missing
		return
	}
	refuse(w, on, e.Status, e.Class, e.Err.Error())
}
