package verification

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/evidence"
)

// Options are what a report directory is verified with.
type Options struct {
	Files   fs.FS
	Version string                                           // of this program
	Formats map[string]func(io.Writer, *report.Report) error // of the reports, by file
	// Signers are the keys that may have signed, nil for every key. If they are known, the signature must exist.
	Signers *signing.AllowedSigners
}

// Problem is one thing that is wrong.
type Problem struct {
	File string `json:"file"` // in the report directory, or a repository
	Line int    `json:"line"` // 0 for the file
	What string `json:"what"`
}

// Error is FILE:LINE: WHAT.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
}

// Result is what was found.
type Result struct {
	Run      string    `json:"run"`      // its id
	Problems []Problem `json:"problems"` // the first is where to start
	Verified []string  `json:"verified"`
	Notes    []string  `json:"notes"` // of what could not be verified
}

// maxProblems is the maximum number of problems of one kind that are listed.
const maxProblems = 20

// Verification is a verification that is in progress.
type Verification struct {
	options Options
	result  Result
	repos   int

	run    *event.Run // the last start
	report *report.Report
	seal   *event.Seal
	at     time.Time // of the seal
	chain  event.Chain
	fold   report.Fold
	lines  map[string]int    // of events, by their hashes
	jobs   map[string]string // of events, by their hashes
	made   []madeCommit
}

// madeCommit is a commit of the events.
type madeCommit struct {
	event.Commit
	job  string
	line int
}

// Verify verifies a report directory. It reads all of its files.
func Verify(o Options) *Verification {
	v := &Verification{options: o, lines: map[string]int{}, jobs: map[string]string{}, result: Result{Problems: []Problem{}, Verified: []string{}, Notes: []string{}}}
	if !v.readEvents() {
		return v
	}
	v.checkSeal()
	v.checkFiles()
	v.checkReports()
	v.checkStatement()
	v.checkTrailers()
	return v
}

// Result returns what was found, also in the repositories that were compared.
func (v *Verification) Result() Result {
	result := v.result
	if v.report != nil && v.seal.Sign == "none" && v.options.Signers == nil && v.repos == 0 {
		result.Notes = append(result.Notes, "nothing outside of the directory was compared: whoever can write there could have made all of it "+
			"(use --repo, a signature, or an attestation of "+evidence.StatementFile+")")
	}
	return result
}

func (v *Verification) problem(file string, line int, format string, args ...any) {
	v.result.Problems = append(v.result.Problems, Problem{file, line, fmt.Sprintf(format, args...)})
}

func (v *Verification) verified(format string, args ...any) {
	v.result.Verified = append(v.result.Verified, fmt.Sprintf(format, args...))
}

func (v *Verification) note(text string) { v.result.Notes = append(v.result.Notes, text) }

// readEvents follows the chain. It returns false if nothing else can be verified.
func (v *Verification) readEvents() bool {
	f, err := v.options.Files.Open(evidence.EventsFile)
	if err != nil {
		v.problem(evidence.EventsFile, 0, "%v", reason(err))
		return false
	}
	defer f.Close()
	var broken error
	torn, err := event.ReadLines(f, func(e event.Event, line []byte) error {
		number := int(v.chain.Lines()) + 1
		if number == 1 && (e.Type != event.RunStarted || e.Run == nil || e.Run.Evidence == nil) {
			broken = Problem{evidence.EventsFile, 1, "the run has no evidence: its manifest lacks the key evidence, or the line was changed"}
			return broken
		}
		if err := v.chain.Check(e); err != nil {
			broken = Problem{evidence.EventsFile, number, err.Error()}
			return broken
		}
		v.add(e, event.LineHash(line), number)
		return nil
	})
	switch {
	case broken != nil:
		v.result.Problems = append(v.result.Problems, broken.(Problem)) //nolint:errorlint,forcetypeassert // set above
	case err != nil:
		p := Problem{evidence.EventsFile, 0, err.Error()}
		if m := atLine.FindStringSubmatch(p.What); m != nil {
			p.Line, _ = strconv.Atoi(m[1])
			p.What = m[2]
		}
		v.result.Problems = append(v.result.Problems, p)
	case torn > 0:
		v.problem(evidence.EventsFile, int(v.chain.Lines())+1, "the last line is incomplete or was changed, or the run was killed (millhand run --resume seals it)")
	case v.chain.Lines() == 0:
		v.problem(evidence.EventsFile, 0, "no events")
	case v.seal == nil:
		v.problem(evidence.EventsFile, int(v.chain.Lines()), "the last event is not sealed: the end of the file was removed, or the run was killed (millhand run --resume seals it)")
	}
	if len(v.result.Problems) > 0 {
		return false
	}
	v.result.Run, v.report = v.run.ID, v.fold.Report()
	v.verified("%s: a chain of %d events", evidence.EventsFile, v.chain.Lines())
	return true
}

// atLine matches the errors of [event.Read] about a line.
var atLine = regexp.MustCompile(`^read event stream, line (\d+): (.*)$`)

// add adds an event that follows the others.
func (v *Verification) add(e event.Event, hash string, line int) {
	v.chain.Add(e, hash)
	v.fold.Emit(e) //nolint:errcheck // always nil
	v.lines[hash], v.jobs[hash] = line, e.Job
	v.seal = nil
	switch {
	case e.Type == event.RunStarted && e.Run != nil:
		v.run = e.Run
	case e.Type == event.Sealed:
		v.seal, v.at = e.Seal, e.Time
	case e.Type == event.Committed && e.Commit != nil:
		v.made = append(v.made, madeCommit{*e.Commit, e.Job, line})
	}
}

// checkSeal compares the seal with the events.
func (v *Verification) checkSeal() {
	line := int(v.chain.Lines())
	if v.run.Evidence == nil {
		v.problem(evidence.EventsFile, line, "the run was resumed without evidence")
		v.run.Evidence = &event.Evidence{}
	}
	if !maps.Equal(v.seal.Heads, v.chain.Jobs()) {
		v.problem(evidence.EventsFile, line, "the heads of the jobs in the seal are not those of the events")
	}
	want, err := evidence.SealOf(v.run, v.report)
	if err != nil {
		v.problem(evidence.EventsFile, line, "%v", err)
	}
	got := *v.seal
	got.Heads, got.Files = nil, nil
	if a, b := jsonOf(want), jsonOf(got); a != b {
		v.problem(evidence.EventsFile, line, "the seal does not repeat the manifests, policies, models and starter of the run: %s instead of %s", b, a)
	}
}

func jsonOf(x any) string {
	text, _ := json.Marshal(x) //nolint:errchkjson // of plain data
	return string(text)
}

// checkFiles compares the files with the seal.
func (v *Verification) checkFiles() {
	named, removed, line := map[string]bool{}, 0, int(v.chain.Lines())
	before := len(v.result.Problems)
	for _, want := range v.seal.Files {
		if !fs.ValidPath(want.Name) || named[want.Name] {
			v.problem(evidence.EventsFile, line, "the seal names the file %q, which is invalid or named twice", want.Name)
			continue
		}
		named[want.Name] = true
		got, err := evidence.HashFile(v.options.Files, want.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && evidence.IsOutput(want.Name):
			removed++
		case err != nil:
			v.problem(want.Name, 0, "%v", reason(err))
		case got != want:
			v.problem(want.Name, 0, "the file was changed: its SHA-256 is %s instead of %s (%s:%d)", got.SHA256, want.SHA256, evidence.EventsFile, line)
		}
	}
	found, err := evidence.NamesOf(v.options.Files)
	if err != nil {
		v.problem(".", 0, "%v", reason(err))
	}
	for _, name := range found {
		if !named[name] {
			v.problem(name, 0, "the file was added: the seal (%s:%d) does not name it", evidence.EventsFile, line)
		}
	}
	if len(v.result.Problems) == before {
		v.verified("files: %d have the hashes of the seal", len(v.seal.Files)-removed)
	}
	if removed > 0 {
		v.note(fmt.Sprintf("%d files of %s were removed since the run; the seal has their hashes", removed, evidence.Outputs))
	}
	v.limit(before)
}

// limit shortens the problems after an index.
func (v *Verification) limit(from int) {
	if more := len(v.result.Problems) - from - maxProblems; more > 0 {
		v.result.Problems = v.result.Problems[:from+maxProblems]
		v.problem(".", 0, "and %d more of these", more)
	}
}

// checkReports makes the reports again and compares them.
func (v *Verification) checkReports() {
	rep := v.report
	before, same := len(v.result.Problems), rep.Run.Version == v.options.Version
	for _, name := range slices.Sorted(maps.Keys(v.options.Formats)) {
		got, err := fs.ReadFile(v.options.Files, name)
		if err != nil {
			if name == "report.json" {
				v.problem(name, 0, "%v", reason(err))
			}
			continue // the seal has the names of the others
		}
		var want bytes.Buffer
		if err := v.options.Formats[name](&want, rep); err != nil {
			v.problem(name, 0, "make the report again: %v", err)
			continue
		}
		switch line := firstDifference(got, want.Bytes()); {
		case line == 0 || !same && name != "report.json":
		case same:
			v.problem(name, line, "differs from the report that %s results in", evidence.EventsFile)
		default:
			if where := compatible(got, want.Bytes()); where != "" {
				v.problem(name, line, "%s differs from the report that %s results in", where, evidence.EventsFile)
			}
		}
	}
	if len(v.result.Problems) == before {
		v.verified("report: the events result in the same one")
	}
	if !same {
		v.note(fmt.Sprintf("the run is of version %s and this is %s: of the reports only the fields of report.json that both have were compared", rep.Run.Version, v.options.Version))
	}
}

// firstDifference returns the line of the first difference, from 1; 0 for none.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return 1 + bytes.Count(a[:n], []byte("\n"))
}

// compatible returns where two JSON documents differ in what both have; "" if they do not. A
// release may add fields.
func compatible(a, b []byte) string {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return "the document"
	}
	return differs("", x, y)
}

func differs(at string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return at
		}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if other, both := y[key]; both {
				if where := differs(path.Join(at, key), x[key], other); where != "" {
					return where
				}
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return at
		}
		for i := range x {
			if where := differs(fmt.Sprintf("%s/%d", at, i), x[i], y[i]); where != "" {
				return where
			}
		}
		return ""
	}
	if a != b {
		return at
	}
	return ""
}

// checkStatement compares the statement with the events and the report, and checks its
// signature.
func (v *Verification) checkStatement() {
	before := len(v.result.Problems)
	got, err := fs.ReadFile(v.options.Files, evidence.StatementFile)
	if err != nil {
		v.problem(evidence.StatementFile, 0, "%v", reason(err))
		return
	}
	rep := v.report
	events, err := evidence.EventsOf(v.options.Files, &v.chain)
	if err != nil {
		v.problem(evidence.EventsFile, 0, "%v", reason(err))
		return
	}
	want, err := evidence.NewStatement(v.run, v.seal, rep, events)
	if err != nil {
		v.problem(evidence.StatementFile, 0, "make it again: %v", err)
		return
	}
	if line := firstDifference(got, want); line != 0 && (rep.Run.Version == v.options.Version || compatible(got, want) != "") {
		v.problem(evidence.StatementFile, line, "differs from the statement that the events result in")
	}
	v.checkTests(rep)
	if len(v.result.Problems) == before {
		v.verified("%s: names the events, the files and %s", evidence.StatementFile, count(len(evidence.Commits(rep))))
	}
	v.checkSignature(got)
}

// checkTests compares the statement about verify commands.
func (v *Verification) checkTests(rep *report.Report) {
	want, err := evidence.NewTests(v.options.Files, v.run, rep)
	got, missing := fs.ReadFile(v.options.Files, evidence.TestsFile)
	switch {
	case err != nil:
		v.problem(evidence.TestsFile, 0, "make it again: %v", err)
	case want == nil || missing != nil: // the seal has its name
	case !bytes.Equal(got, want) && (rep.Run.Version == v.options.Version || compatible(got, want) != ""):
		v.problem(evidence.TestsFile, firstDifference(got, want), "differs from the statement that the events result in")
	}
}

// checkSignature checks the signature of the statement.
func (v *Verification) checkSignature(statement []byte) {
	signature, err := fs.ReadFile(v.options.Files, evidence.SignatureFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && v.seal.Sign == "none" && v.options.Signers == nil:
		return
	case errors.Is(err, fs.ErrNotExist):
		v.problem(evidence.SignatureFile, 0, "the statement is not signed")
		return
	case err != nil:
		v.problem(evidence.SignatureFile, 0, "%v", reason(err))
		return
	}
	who, err := signing.VerifySSH(evidence.Namespace, statement, signature, v.options.Signers, v.at)
	if err != nil {
		v.problem(evidence.SignatureFile, 0, "%v", err)
		return
	}
	name := "the key " + who.Key
	if who.Principal != "" {
		name = who.Principal + ", with " + name
	}
	v.verified("%s: signed by %s", evidence.SignatureFile, name)
	// Earlier versions and keys of security tokens made none.
	switch envelope, err := fs.ReadFile(v.options.Files, evidence.EnvelopeFile); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		v.problem(evidence.EnvelopeFile, 0, "%v", reason(err))
	default:
		if err := signing.VerifyEnvelope(envelope, evidence.PayloadType, statement, signature); err != nil {
			v.problem(evidence.EnvelopeFile, 0, "%v", err)
		} else {
			v.verified("%s: has the statement, signed by the same key", evidence.EnvelopeFile)
		}
	}
	if v.options.Signers == nil {
		v.note("the signature fits, but whose key it is was not verified: give the keys with --allowed-signers")
	}
}

// reason returns the error of a file without its path, which is named already.
func reason(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}
