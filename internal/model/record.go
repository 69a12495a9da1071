package model

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/textcut"
)

// RecordingVersion is the version of the lines that a [Recorder] writes. Version 1
// had other names for the token counts.
const RecordingVersion = 2

// ExchangeLimit is the maximum size of one exchange in a recording, in bytes.
const ExchangeLimit = 128 << 20

// Exchange is one line of a recording: a request and its response or error. Exactly
// one of these is set.
type Exchange struct {
	Version  int               `json:"v"`
	Job      string            `json:"job"`             // of the request: a job, or one of its child sessions
	Model    string            `json:"model,omitempty"` // that the request's tools are for, as provider/model
	Request  RecordedRequest   `json:"request"`
	Response *RecordedResponse `json:"response,omitempty"`
	Error    *Failure          `json:"error,omitempty"`
	Lost     *money.Charge     `json:"lost,omitempty"` // what its failed attempts used
}

// RecordedRequest is a request in a recording. Hash identifies the request (see [Canon]); the
// other fields show where two requests differ.
type RecordedRequest struct {
	Hash     string   `json:"hash"`
	Options  string   `json:"options"` // digest of the parameters beside the conversation
	Tools    []string `json:"tools"`   // "name digest", sorted
	System   string   `json:"system"`  // digest of the system prompt
	Prompt   string   `json:"prompt,omitempty"`
	Messages int      `json:"messages"` // their number
	Earlier  string   `json:"earlier"`  // digest of those up to the model's last one
	News     string   `json:"news"`     // those after it, readable, truncated
}

// RecordedResponse is a response in a recording.
type RecordedResponse struct {
	Text      string       `json:"text,omitempty"`
	Reasoning string       `json:"reasoning,omitempty"`
	Calls     []ToolCall   `json:"calls,omitempty"`
	Finish    Finish       `json:"finish"`
	State     *State       `json:"state,omitempty"`
	Usage     *money.Usage `json:"usage,omitempty"`
	CostUSD   *money.USD   `json:"cost_usd,omitempty"`
	Model     string       `json:"model,omitempty"` // that responded, of several
}

// Failure is a failure in a recording. Class is "" for a request that its caller
// cancelled.
type Failure struct {
	Class   ErrorClass `json:"class,omitempty"`
	Status  int        `json:"status,omitempty"`
	Message string     `json:"message"`
}

// Placeholder is a name for a value that differs in every run: a directory, the
// run's id.
type Placeholder struct {
	Name  string // as workspace
	Value string // as /home/ada/shop; "" for none
}

// Canon converts texts to a canonical form that is the same in every run of the same
// work, so that a request can be found in a recording.
//
// The hash of a request covers the system prompt, the messages with their calls
// and attachments (by digest), the tools in the order of their names, and the
// other parameters. It omits the cache key, the state of a wire, and the output
// limit, which depends on the money that other jobs have left. In all texts, values
// are replaced by their placeholders, and dates, times of day, durations, UUIDs,
// names of git objects and the first directory below /tmp by fixed words: they
// differ between two runs that do the same.
//
// Recorded texts have placeholders and no secrets, but the times of the recorded
// run. Placeholders are resolved when a recording is played back. A Canon is safe for
// concurrent use if its redaction is.
type Canon struct {
	hidden *strings.Replacer
	shown  *strings.Replacer
	redact func(string) string

	// Each request of a conversation contains its earlier texts, so their canonical
	// forms are cached.
	mu    sync.Mutex
	known map[string]string
	size  int // of known, in bytes
}

// NewCanon returns a Canon for a run with the given placeholders. redact removes the
// secrets of a text, and must be idempotent; it may be nil. Recording and playing
// back need the same redact, and placeholders of the same names.
func NewCanon(values []Placeholder, redact func(string) string) *Canon {
	values = slices.DeleteFunc(slices.Clone(values), func(p Placeholder) bool { return p.Value == "" })
	slices.SortStableFunc(values, func(a, b Placeholder) int { return cmp.Compare(len(b.Value), len(a.Value)) }) // the inner directory first
	var hide, show []string
	for _, p := range values {
		mark := "{{millhand:" + p.Name + "}}"
		hide, show = append(hide, p.Value, mark), append(show, mark, p.Value)
	}
	if redact == nil {
		redact = func(s string) string { return s }
	}
	return &Canon{hidden: strings.NewReplacer(hide...), shown: strings.NewReplacer(show...), redact: redact, known: map[string]string{}}
}

// record returns s as it may be recorded.
func (c *Canon) record(s string) string { return c.hidden.Replace(c.redact(s)) }

type passingText struct {
	pattern *regexp.Regexp
	name    string
}

// passing are the texts that differ between runs that do the same.
var passing = sync.OnceValue(func() []passingText {
	return []passingText{
		{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<uuid>"},
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?[+-]\d\d:?\d\d|Z)?)?`), "<time>"},
		{regexp.MustCompile(`\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (\d\d? )?)?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(\d\d? )?((\d{4} )?\d\d:\d\d(:\d\d)?)( [A-Z]{3,4})?( \d{4})?( [+-]\d{4})?`), "<time>"},
		{regexp.MustCompile(`\b\d\d?:\d\d:\d\d([.,]\d+)?`), "<time>"},
		{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+([.,]\d+)? ?(ns|us|µs|ms|s|secs?|seconds?|milliseconds?)\b`), "<duration>"},
		{regexp.MustCompile(`/tmp/[^/\s"'` + "`" + `:;,)]+`), "/tmp/<temp>"},
	}
})

var object = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[0-9a-f]{7,64}\b`) })

// compare returns the canonical form of s, for a hash.
func (c *Canon) compare(s string) string {
	c.mu.Lock()
	same, ok := c.known[s]
	c.mu.Unlock()
	if ok {
		return same
	}
	same = alike(c.record(s))
	c.mu.Lock()
	defer c.mu.Unlock()
	const most = 64 << 20
	if c.size += len(s) + len(same); c.size > most {
		clear(c.known)
		c.size = len(s) + len(same)
	}
	c.known[s] = same
	return same
}

// alike replaces in s what differs between runs that do the same.
func alike(s string) string {
	for _, p := range passing() {
		s = p.pattern.ReplaceAllString(s, p.name)
	}
	return object().ReplaceAllStringFunc(s, func(hex string) string {
		if strings.ContainsAny(hex, "0123456789") && strings.ContainsAny(hex, "abcdef") {
			return "<object>" // words have no digits, numbers no letters
		}
		return hex
	})
}

// Request describes a request for a recording. It does not set Prompt.
func (c *Canon) Request(req Request) RecordedRequest {
	messages := make([]Message, len(req.Messages))
	for i, m := range req.Messages {
		messages[i] = c.message(m)
	}
	a := RecordedRequest{
		Options: digest(struct {
			Temperature *float64
			Effort      string
			Output      map[string]any
			TopP        *float64 `json:",omitempty"` // which earlier recordings don't have
		}{req.Temperature, req.Effort, req.Output, req.TopP}),
		Tools:    c.tools(req.Tools),
		System:   digest(c.compare(req.System)),
		Messages: len(messages),
	}
	last := len(messages)
	for last > 0 && messages[last-1].Role != Assistant {
		last--
	}
	a.Earlier = digest(messages[:last])
	a.News = transcribe(messages[last:])
	a.Hash = digest([]any{a.Options, a.Tools, a.System, messages})
	return a
}

// Prompt is the canonical form of a request's system prompt, truncated.
func (c *Canon) Prompt(req Request) string { return cut(c.compare(req.System)) }

func (c *Canon) tools(specs []ToolSpec) []string {
	list := []string{} // never null
	for _, t := range specs {
		t.Description = c.compare(t.Description)
		list = append(list, t.Name+" "+digest(t)[:16])
	}
	slices.Sort(list)
	return list
}

// message returns the canonical form of m, for a hash.
func (c *Canon) message(m Message) Message {
	m.State = nil
	m.Text, m.Reasoning = c.compare(m.Text), c.compare(m.Reasoning)
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Input = c.compare(m.Calls[i].Input)
	}
	m.Attachments = slices.Clone(m.Attachments)
	for i, a := range m.Attachments {
		sum := sha256.Sum256(a.Data)
		m.Attachments[i] = Attachment{Name: c.compare(a.Name), MIME: a.MIME, Data: sum[:]}
	}
	return m
}

// digest is the SHA-256 of v as JSON, in which maps are sorted.
func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // an invalid schema: no wire could send it
		data = []byte(err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// excerptLimit is the maximum of a request's text that is recorded, in bytes.
const excerptLimit = 16 << 10

// cut removes the middle of a long text, and adds its length and digest instead.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= excerptLimit {
		return s
	}
	return textcut.Ends(s, excerptLimit/2, excerptLimit/2, "\n("+strconv.Itoa(len(s))+" bytes, "+digest(s)[:16]+")\n")
}

// transcribe formats messages for readers and diffs.
func transcribe(messages []Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "[%s", m.Role)
		if m.Role == ToolRole {
			fmt.Fprintf(&b, " %s, call %s, failed %t, denied %t", m.Tool, m.CallID, m.Failed, m.Denied)
		}
		fmt.Fprintf(&b, "]\n%s\n", m.Text)
		for _, a := range m.Attachments {
			fmt.Fprintf(&b, "[attachment %s, %s, %x]\n", a.Name, a.MIME, a.Data[:min(8, len(a.Data))])
		}
	}
	return cut(b.String())
}

// recorded returns a response as it may be recorded.
func (c *Canon) recorded(r Response) *RecordedResponse {
	a := &RecordedResponse{
		Text: c.record(r.Text), Reasoning: c.record(r.Reasoning), Calls: c.each(r.Calls, c.record),
		Finish: r.Finish, Usage: r.Usage, CostUSD: r.CostUSD, Model: r.Model,
	}
	if r.State != nil { // opaque, but it may contain plain text
		if data := []byte(c.redact(string(r.State.Data))); json.Valid(data) {
			a.State = &State{Wire: r.State.Wire, Data: data}
		}
	}
	return a
}

// Response returns a recorded response with the values of this run.
func (c *Canon) Response(a RecordedResponse) Response {
	r := Response{
		Text: c.shown.Replace(a.Text), Reasoning: c.shown.Replace(a.Reasoning), Calls: c.each(a.Calls, c.shown.Replace),
		Finish: a.Finish, Model: a.Model,
	}
	if a.State != nil {
		r.State = &State{Wire: a.State.Wire, Data: slices.Clone(a.State.Data)}
	}
	if a.Usage != nil {
		usage := *a.Usage
		r.Usage = &usage
	}
	if a.CostUSD != nil {
		usd := *a.CostUSD
		r.CostUSD = &usd
	}
	return r
}

func (c *Canon) each(calls []ToolCall, change func(string) string) []ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Input = change(calls[i].Input)
	}
	return calls
}

func (c *Canon) failure(err error) *Failure {
	u := &Failure{Message: cut(c.record(err.Error()))}
	var failed *Error
	if errors.As(err, &failed) {
		u.Class, u.Status = failed.Class, failed.Status
		if failed.Err != nil { // the class and the status have fields of their own
			u.Message = cut(c.record(strings.Replace(err.Error(), failed.Error(), failed.Err.Error(), 1)))
		}
	}
	return u
}

// Recorder writes exchanges to a file. It is safe for concurrent use.
type Recorder struct {
	canon *Canon

	mu      sync.Mutex
	file    *files.Stream
	prompts map[string]bool // digests of the system prompts that were written
	err     error           // the first failure; nothing is written after it
}

// OpenRecorder returns a Recorder that appends to the file at path, and creates it
// for its owner alone if it does not exist. The path is the user's own: symlinks are followed, and devices and FIFOs
// written. A file with an incomplete last line, as a killed run leaves it, is an error.
func OpenRecorder(path string, c *Canon) (*Recorder, error) {
	file, err := files.Own(path).Append(0o600)
	if err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	if err := checkEnd(file); err != nil {
		return nil, errors.Join(fmt.Errorf("append to the recording %s: %w", path, err), file.Close())
	}
	return &Recorder{canon: c, file: file, prompts: map[string]bool{}}, nil
}

func checkEnd(f *files.Stream) error {
	size := f.Info().Size()
	if size == 0 || !f.Info().Mode().IsRegular() {
		return nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		return errors.New("incomplete last line: the run that wrote it was killed; remove the line, or use another file")
	}
	return nil
}

// Close closes the file. It returns the first write error: later exchanges are not in
// the recording.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.file.Close(); err != nil && r.err == nil {
		r.err = fmt.Errorf("close the recording: %w", err)
	}
	return r.err
}

// add writes an exchange as one line and waits until it is on the disk.
func (r *Recorder) add(ctx context.Context, e Exchange, req Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	fresh := !r.prompts[e.Request.System]
	if fresh {
		e.Request.Prompt = r.canon.Prompt(req)
	}
	if err := r.write(ctx, e); err != nil {
		r.err = fmt.Errorf("record an exchange of %s: %w", e.Job, err)
		return
	}
	r.prompts[e.Request.System] = true
}

func (r *Recorder) write(ctx context.Context, e Exchange) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(line) >= ExchangeLimit {
		return fmt.Errorf("exchange too large: %d bytes (maximum %d)", len(line), ExchangeLimit)
	}
	return r.file.Write(ctx, append(line, '\n'))
}

// Recording returns m, the model with the given id, with every exchange written to
// rec under the name of a job, or of a child session. It belongs around retries,
// prices and fallbacks, so that an exchange is a request of the session and the final
// response to it.
//
// An exchange that can't be written does not fail: [Recorder.Close] reports that. The
// chunks of a response are not recorded, because a secret that spans two of them
// could not be removed.
func Recording(m Model, rec *Recorder, job, id string) Model {
	return recording{m, rec, job, id}
}

type recording struct {
	next Model
	rec  *Recorder
	job  string
	id   string
}

func (r recording) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	asked := r.rec.canon.Request(req) // before it could be changed
	resp, err := r.next.Stream(ctx, req, emit)
	e := Exchange{Version: RecordingVersion, Job: r.job, Model: r.rec.canon.record(r.id), Request: asked, Lost: resp.Lost}
	if err != nil {
		e.Error = r.rec.canon.failure(err)
	} else {
		e.Response = r.rec.canon.recorded(resp)
	}
	r.rec.add(context.WithoutCancel(ctx), e, req)
	return resp, err
}
