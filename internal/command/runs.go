package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
)

type listRunsOptions struct {
	dir  string // "": the default one
	json bool
}

type pruneRunsOptions struct {
	dir       string // "": the default one
	keep      int
	olderThan time.Duration
	dryRun    bool
}

func runsCommand(w World) *cli.Command {
	dir := func(to *string) cli.Flag {
		return &cli.StringFlag{Name: "dir", Destination: to, DefaultText: ".millhand/runs", Usage: "Use the runs in `DIR`, or those of the report directory DIR"}
	}
	list, prune := &listRunsOptions{}, &pruneRunsOptions{}
	return &cli.Command{
		Name: "runs", Usage: "List and remove saved runs",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "List saved runs, newest first",
				Flags:  []cli.Flag{dir(&list.dir), jsonFlag(&list.json, "Print one JSON document")},
				Action: act(list.parse, func(context.Context) error { return listRuns(w, *list) }),
			},
			{
				Name: "prune", Usage: "Remove saved runs except the newest and those still running",
				UsageText: "millhand runs prune --keep 20\nmillhand runs prune --keep 0 --older-than 720h --dry-run",
				Flags: []cli.Flag{
					dir(&prune.dir),
					// MILLHAND_KEEP is for "run --keep", and removed runs can't be restored.
					&cli.IntFlag{Name: "keep", Destination: &prune.keep, Value: -1, EnvVars: noVariable(), Usage: "Keep the newest `N` runs (required)"},
					&cli.DurationFlag{Name: "older-than", Destination: &prune.olderThan, DefaultText: "any age", Usage: "Remove only runs that started more than `DURATION` ago, for example 720h"},
					&cli.BoolFlag{Name: "dry-run", Destination: &prune.dryRun, Usage: "Print what would be removed, and remove nothing"},
				},
				Action: act(prune.parse, func(context.Context) error { return pruneRuns(w, *prune) }),
			},
		},
	}
}

func (o *listRunsOptions) parse(args []string) error { return noArguments("runs list", args) }

func (o *pruneRunsOptions) parse(args []string) error {
	switch {
	case o.keep < 0:
		return errors.New("runs prune requires --keep N, the number of runs to keep")
	case o.olderThan < 0:
		return fmt.Errorf("--older-than %s: must not be negative", o.olderThan)
	}
	return noArguments("runs prune", args)
}

func listRuns(w World, o listRunsOptions) error {
	dir, runs, err := findRuns(w, o.dir)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(w.Out, struct {
			Dir  string         `json:"dir"`
			Runs []rundir.Saved `json:"runs"`
		}{dir, runs})
	}
	if len(runs) == 0 {
		fmt.Fprintf(w.Err, "millhand: there are no runs in %s\n", printable.Text(dir))
		return nil
	}
	t := tabwriter.NewWriter(w.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTARTED\tELAPSED\tOUTCOME\tEXIT\tJOBS\tCOST\tPLAN")
	for _, r := range runs {
		fmt.Fprintln(t, strings.Join(columns(r), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range runs {
		if r.Damage != "" {
			fmt.Fprintf(w.Err, "millhand: %s is damaged: %s\n", printable.Line(r.Dir, printable.Width), printable.Line(r.Damage, printable.Width))
		}
	}
	return nil
}

// findRuns lists the runs of a directory, "" being the default one, which may be
// missing.
func findRuns(w World, dir string) (at string, runs []rundir.Saved, err error) {
	if dir == "" {
		dir = filepath.Join(".millhand", "runs")
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return dir, []rundir.Saved{}, nil
		}
	}
	runs, err = rundir.List(dir, w.Now())
	if err != nil {
		return "", nil, fail(event.ExitUsage, "look for runs: %w", err)
	}
	return dir, runs, nil
}

// columns are a run's line of the table.
func columns(r rundir.Saved) []string {
	elapsed, exit, passed, cost := "-", "-", "-", "-"
	if r.ElapsedMS != nil {
		elapsed = view.Duration(*r.ElapsedMS)
	}
	if r.ExitCode != nil {
		exit = strconv.Itoa(int(*r.ExitCode))
	}
	if r.Passed != nil {
		passed, cost = strconv.Itoa(*r.Passed), "unknown"
	}
	if r.CostUSD != nil {
		cost = view.Dollars(r.CostUSD)
	}
	plan := printable.Line(r.PlanHash, printable.Width)
	return []string{
		printable.Line(r.ID, 80), r.StartedAt.UTC().Format(time.RFC3339), elapsed, printable.Line(string(r.Outcome), 20), exit,
		fmt.Sprintf("%s/%d", passed, r.Jobs), cost, cmp.Or(plan[:min(len(plan), 12)], "-"),
	}
}

// What a list says of a run that has no outcome.
const (
	runRunning    event.Outcome = "running"    // it is going on
	runUnfinished event.Outcome = "unfinished" // it was killed
	runDamaged    event.Outcome = "damaged"    // what it left can't be read
)

// savedRun is what a list tells of a run. Only the ends of its events and the
// beginning of its report are read for it.
type savedRun struct {
	ID        string        `json:"id"` // the folder's name if the run's own can't be read
	Dir       string        `json:"dir"`
	StartedAt time.Time     `json:"started_at"` // of a damaged run: when it last wrote
	ElapsedMS *int64        `json:"elapsed_ms"`
	Outcome   event.Outcome `json:"outcome"`
	ExitCode  *event.Exit   `json:"exit_code"`
	Jobs      int           `json:"jobs"`
	Passed    *int          `json:"passed"`   // nil without a report
	CostUSD   *money.USD    `json:"cost_usd"` // nil without a report, or if it is unknown
	PlanHash  string        `json:"plan_hash"`
	Manifest  []string      `json:"manifest"`
	Damage    string        `json:"damage,omitempty"` // what can't be read, and why

	current bool // it is that of a report directory that is used again and again
	held    bool // a process has the lock of its folder
}

// columns are the run's line of the table.
func (r savedRun) columns() []string {
	elapsed, exit, passed, cost := "-", "-", "-", "-"
	if r.ElapsedMS != nil {
		elapsed = view.Duration(*r.ElapsedMS)
	}
	if r.ExitCode != nil {
		exit = strconv.Itoa(int(*r.ExitCode))
	}
	if r.Passed != nil {
		passed, cost = strconv.Itoa(*r.Passed), "unknown"
	}
	if r.CostUSD != nil {
		cost = view.Dollars(r.CostUSD)
	}
	plan := printable.Line(r.PlanHash, printable.Width)
	return []string{
		printable.Line(r.ID, 80), r.StartedAt.UTC().Format(time.RFC3339), elapsed, printable.Line(string(r.Outcome), 20), exit,
		fmt.Sprintf("%s/%d", passed, r.Jobs), cost, cmp.Or(plan[:min(len(plan), 12)], "-"),
	}
}

// isReportDir reports whether a folder is that of one run after the other.
func isReportDir(dir string) bool {
	return isRun(dir) || isFolder(filepath.Join(dir, "earlier"))
}

// isFolder reports whether a path is a folder, and no link to one.
func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// isRun reports whether a folder holds what a run wrote.
func isRun(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, "events.jsonl"))
	return err == nil && info.Mode().IsRegular()
}

// reportTotals reads a report as far as its run's sums, which come before the
// jobs.
func reportTotals(in io.Reader, id string) (report.Totals, bool) {
	dec := json.NewDecoder(io.LimitReader(in, 1<<20))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return report.Totals{}, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return report.Totals{}, false
		}
		if key != "run" {
			var skipped json.RawMessage
			if dec.Decode(&skipped) != nil {
				return report.Totals{}, false
			}
			continue
		}
		var run struct {
			ID     string        `json:"id"`
			Totals report.Totals `json:"totals"`
		}
		err = dec.Decode(&run)
		return run.Totals, err == nil && run.ID == id
	}
	return report.Totals{}, false
}

// How much is read at most of a stream's ends, in bytes: run.started grows
// with the plan, run.ended does not.
const (
	firstMost = 64 << 20
	lastMost  = 64 << 10
)

// streamEnds is what the first and the last event of a run tell. The run is
// nil for a stream without a whole line, end for one that does not end with
// run.ended; last is zero if the last event is a long one.
type streamEnds struct {
	run           *event.Run
	end           *event.RunEnd
	started, last time.Time
}

// readEnds reads the ends of a stored stream. A torn last line, as a kill
// leaves it, is no damage.
func readEnds(in io.ReaderAt, size int64) (streamEnds, error) {
	var ends streamEnds
	text, err := firstLine(in, size)
	if err != nil || text == nil {
		return ends, err
	}
	var first, last event.Event
	if err := json.Unmarshal(text, &first); err != nil {
		return ends, fmt.Errorf("read the first event: %w", err)
	}
	if first.Type != event.RunStarted || first.Run == nil {
		return ends, errors.New("the first event is not run.started")
	}
	ends.run, ends.started = first.Run, first.Time
	if text, err = lastLine(in, size, lastMost); err != nil || text == nil {
		return ends, err
	}
	if err := json.Unmarshal(text, &last); err != nil {
		return ends, fmt.Errorf("read the last event: %w", err)
	}
	ends.last = last.Time
	if last.Type == event.RunEnded {
		ends.end = last.RunEnd
	}
	return ends, nil
}

// firstLine returns the first line without its newline; nil if there is no
// newline.
func firstLine(in io.ReaderAt, size int64) ([]byte, error) {
	var line []byte
	for off, part := int64(0), make([]byte, 32<<10); off < min(size, firstMost); {
		n, err := in.ReadAt(part, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the first event: %w", err)
		}
		if n == 0 {
			return nil, nil // it has become shorter
		}
		if i := slices.Index(part[:n], '\n'); i >= 0 {
			return append(line, part[:i]...), nil
		}
		line, off = append(line, part[:n]...), off+int64(n)
	}
	if size > firstMost {
		return nil, errors.New("read the first event: line too long")
	}
	return nil, nil
}

// lastLine returns the last whole line without its newline; nil if none ends
// and begins in the last most bytes.
func lastLine(in io.ReaderAt, size, most int64) ([]byte, error) {
	from := max(0, size-most)
	part := make([]byte, size-from)
	n, err := in.ReadAt(part, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the last event: %w", err)
	}
	lines := strings.Split(string(part[:n]), "\n")
	// What follows the last newline is torn, and what comes before the first
	// one may be, unless the file begins there.
	if len(lines) < 2 || len(lines) == 2 && from > 0 {
		return nil, nil
	}
	return []byte(lines[len(lines)-2]), nil
}

func pruneRuns(w World, o pruneRunsOptions) error {
	_, runs, err := findRuns(w, o.dir)
	if err != nil {
		return err
	}
	p := pruning{world: w, dry: o.dryRun}
	for i, r := range runs {
		old := o.olderThan == 0 || w.Now().Sub(r.StartedAt) > o.olderThan
		if i >= o.keep && old && r.Removable() {
			p.prune(r)
		}
	}
	removed, freed := "removed", "freed"
	if p.dry {
		removed, freed = "would remove", "would free"
	}
	fmt.Fprintf(w.Out, "%s %s, %s %s; %d left\n", removed, view.Plural(p.removed, "run"), freed, byteSize(p.freed), len(runs)-p.removed)
	if p.errs != nil {
		return failure{event.ExitUsage, p.errs}
	}
	return nil
}

// pruning removes runs, and keeps count.
type pruning struct {
	world   World
	dry     bool
	removed int
	freed   int64
	errs    error
}

// prune removes one run, unless one has begun in its folder by now.
func (p *pruning) prune(r rundir.Saved) {
	size := rundir.DiskUse(r.Dir)
	verb := "would remove"
	if !p.dry {
		verb = "removed"
		err := rundir.Remove(r.Dir, p.world.Now())
		if errors.Is(err, rundir.ErrInUse) || errors.Is(err, fs.ErrNotExist) {
			return // another has begun there, or was quicker
		}
		if err != nil {
			p.errs = errors.Join(p.errs, fmt.Errorf("%s stays: %w", r.Dir, err))
			return
		}
	}
	p.removed++
	p.freed += size
	fmt.Fprintf(p.world.Out, "%s %s (%s, %s)\n", verb, printable.Line(r.Dir, printable.Width), printable.Line(string(r.Outcome), 20), byteSize(size))
}

// removeTree removes a file or a folder even if folders in it are
// write-protected, as those of module caches are. It follows no link.
func removeTree(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	return cmp.Or(os.RemoveAll(path), err)
}

// diskUse is what a folder takes of the disk, in bytes, as far as it can be
// seen. It follows no link.
func diskUse(dir string) int64 {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { //nolint:errcheck // what can't be seen is not counted
		if err != nil {
			return nil //nolint:nilerr // the rest is counted
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += st.Blocks * 512
			}
		}
		return nil
	})
	return sum
}

// byteSize writes a size for people.
func byteSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, prefix := float64(n)/unit, 0
	for size >= unit && prefix < 3 {
		size, prefix = size/unit, prefix+1
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[prefix])
}
