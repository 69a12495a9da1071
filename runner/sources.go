package runner

import (
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// Sources returns the sources of a plan's repositories for its run.started event, with
// their lists.
func Sources(plan *tasks.Plan) []event.Source {
	var all []event.Source
	for _, l := range plan.Sources {
		s := event.Source{
			Kind: string(l.Kind), Host: l.Host, Owner: l.Owner, Topic: l.Topic, Search: l.Search, Language: l.Language, Archived: l.Archived, Forks: l.Forks,
			Include: append([]string{}, l.Include...), Exclude: append([]string{}, l.Exclude...),
			LeftOut: event.LeftOut{Archived: l.LeftOut.Archived, Forks: l.LeftOut.Forks, Empty: l.LeftOut.Empty, Excluded: l.LeftOut.Excluded},
			Repos:   []event.SourceRepo{},
		}
		for _, r := range l.Repos {
			s.Repos = append(s.Repos, event.SourceRepo{Name: r.Name, DefaultBranch: r.DefaultBranch})
		}
		all = append(all, s)
	}
	return all
}

// Lists is the reverse of [Sources]. Its result is checked when a plan uses it.
func Lists(sources []event.Source) []tasks.Listed {
	var all []tasks.Listed
	for _, s := range sources {
		l := tasks.Listed{
			Source: tasks.Source{
				Kind: tasks.ForgeKind(s.Kind), Host: s.Host, Owner: s.Owner, Topic: s.Topic, Search: s.Search, Language: s.Language, Archived: s.Archived, Forks: s.Forks,
				Include: s.Include, Exclude: s.Exclude,
			},
			LeftOut: tasks.LeftOut{Archived: s.LeftOut.Archived, Forks: s.LeftOut.Forks, Empty: s.LeftOut.Empty, Excluded: s.LeftOut.Excluded},
		}
		for _, r := range s.Repos {
			l.Repos = append(l.Repos, tasks.ListedRepo{Name: r.Name, DefaultBranch: r.DefaultBranch})
		}
		all = append(all, l)
	}
	return all
}
