package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest/repolist"
)

// SourceOptions are where the lists of a plan's sources come from.
type SourceOptions struct {
	File     string // with lists; "" for none
	Recorded *event.Run
	Only     bool // a source that is not recorded is an error
}

// maxSources is the maximum size of a file of lists, in bytes.
const maxSources = 64 << 20

// lists returns the lists that are known before a forge is asked.
func (o SourceOptions) lists(ctx context.Context) ([]tasks.Listed, error) {
	if o.Recorded != nil {
		return tasks.RecordedLists(o.Recorded.Sources), nil
	}
	if o.File == "" {
		return nil, nil
	}
	text, err := abandon.When(ctx, func() ([]byte, error) { return readSources(o.File) })
	var doc struct {
		Sources *[]event.Source `json:"sources"` // of a plan
		Run     struct {
			Sources *[]event.Source `json:"sources"` // of a report
		} `json:"run"`
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("--sources: read %s: %w", o.File, err)
	case doc.Sources == nil && doc.Run.Sources == nil:
		return nil, fmt.Errorf("--sources: %s has no sources: it must be the output of millhand plan --format json, or a report.json", o.File)
	case doc.Sources == nil:
		doc.Sources = doc.Run.Sources
	}
	return tasks.RecordedLists(*doc.Sources), nil
}

func readSources(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSources+1))
	if err == nil && len(text) > maxSources {
		err = fmt.Errorf("it exceeds %d bytes", maxSources)
	}
	return text, err
}

// missing returns the error for sources that the known lists lack; nil if a forge may be
// asked.
func (o SourceOptions) missing(unlisted []tasks.Source) error {
	if len(unlisted) == 0 {
		return nil
	}
	s := unlisted[0]
	switch {
	case o.Recorded != nil && o.Only:
		return fmt.Errorf("the manifest has changed since the run was started: %s (%s) is new or has other keys; restore it, or continue the unchanged jobs with --accept-changes", s, s.At)
	case o.Recorded == nil && o.File != "":
		return fmt.Errorf("--sources: %s has no list of %s (%s): make it again, with millhand plan --format json", o.File, s, s.At)
	}
	return nil
}

// Listed loads the plan of a command line, for which forges list the repositories of
// sources.
func Listed(ctx context.Context, w world.World, o Options, quiet bool) (*tasks.Plan, error) {
	lists, err := o.Sources.lists(ctx)
	if err != nil {
		return nil, NotLoaded(ctx, err)
	}
	load, err := loader(ctx, w, o)
	if err != nil {
		return nil, err
	}
	plan, err := load(lists)
	if err != nil {
		return nil, err
	}
	unlisted := plan.Unlisted()
	if len(unlisted) == 0 {
		return plan, nil
	}
	if err := o.Sources.missing(unlisted); err != nil {
		return nil, fault.New(event.ExitUsage, "%w; nothing was run", err)
	}
	listed, err := askForges(ctx, w, plan, unlisted, quiet)
	if err != nil {
		return nil, err
	}
	return load(append(lists, listed...))
}

// askForges lists the repositories of sources. It fails if any list is not complete.
func askForges(ctx context.Context, w world.World, plan *tasks.Plan, sources []tasks.Source, quiet bool) ([]tasks.Listed, error) {
	ctx, cancel := Timed(ctx, plan.Budget.Time)
	defer cancel()
	known := w.Redactor(plan)
	say := func(text string) { fmt.Fprintln(w.Err, printable.Text(known.Text(text))) }
	hosts := forges.Hosts(w, plan, known.Hold)
	var urls []string
	for _, j := range plan.Jobs { // those of the sources, too
		if j.Repo.Kind == tasks.RepoURL {
			urls = append(urls, j.Repo.URL)
		}
	}
	if _, err := hosts.ForRemotes(urls); err != nil {
		return nil, fault.New(event.ExitUsage, "%s; nothing was run", known.Text(err.Error()))
	}
	clients := forges.Clients(w, hosts, say)
	clients.Anonymous = true
	var all []tasks.Listed
	for _, s := range sources {
		l, err := listSource(ctx, clients, s)
		if err != nil {
			return nil, forges.Failure(ctx, fmt.Errorf("%s", known.Text(fmt.Sprintf("%s: %v", s.At, err))), err)
		}
		if !quiet {
			say("listed " + summary(l))
		}
		all = append(all, l)
	}
	return all, nil
}

// listSource asks a forge for the repositories of a source.
func listSource(ctx context.Context, clients *apis.Clients, s tasks.Source) (tasks.Listed, error) {
	client, _, err := clients.Open(s.URL(s.Owner + "/x"))
	if err != nil {
		return tasks.Listed{}, err
	}
	got, err := client.ListRepos(ctx, forge.Filter{Owner: s.Owner, Topic: s.Topic, Search: s.Search, Language: s.Language, Archived: s.Archived, Forks: s.Forks})
	l := tasks.Listed{Source: s, LeftOut: tasks.LeftOut{Archived: got.Archived, Forks: got.Forks, Empty: got.Empty}}
	for _, r := range got.Repos {
		name := r.Path.String()
		if !repolist.Selects(s, name) {
			l.LeftOut.Excluded++
			continue
		}
		l.Repos = append(l.Repos, tasks.ListedRepo{Name: name, DefaultBranch: r.DefaultBranch})
	}
	return l, err
}

// summary describes a list in a line.
func summary(l tasks.Listed) string {
	text := fmt.Sprintf("%s: %s", l.Source, figures.Count(len(l.Repos), "repository"))
	if len(l.Repos) == 1 {
		text = fmt.Sprintf("%s: 1 repository", l.Source)
	}
	if left := l.LeftOut.String(); left != "" {
		text += " (left out: " + left + ")"
	}
	return text
}

// PrintSources prints the lists of a plan.
func PrintSources(out io.Writer, plan *tasks.Plan) {
	for _, l := range plan.Sources {
		if l.Unlisted {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", printable.Text(summary(l)))
		for _, r := range l.Repos {
			fmt.Fprintf(out, "  %s\n", printable.Text(view.Quote(r.Name)))
		}
	}
}

// NoteUnlisted prints which sources were not listed, and so not checked.
func NoteUnlisted(w world.World, plan *tasks.Plan) {
	for _, s := range plan.Unlisted() {
		fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("note: %s: the repositories of %s are not listed here; millhand plan shows them", s.At, s)))
	}
}
