package tasks

import "github.com/millhand/millhand/internal/event"

// RecordedSources returns the sources of the plan's repositories for its run.started event, with
// their lists.
func (p *Plan) RecordedSources() []event.Source {
	var all []event.Source
	for _, l := range p.Sources {
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

// RecordedLists is the reverse of [Plan.RecordedSources]. Its result is checked when a plan uses it.
func RecordedLists(sources []event.Source) []Listed {
	var all []Listed
	for _, s := range sources {
		l := Listed{
			Source: Source{
				Kind: ForgeKind(s.Kind), Host: s.Host, Owner: s.Owner, Topic: s.Topic, Search: s.Search, Language: s.Language, Archived: s.Archived, Forks: s.Forks,
				Include: s.Include, Exclude: s.Exclude,
			},
			LeftOut: LeftOut{Archived: s.LeftOut.Archived, Forks: s.LeftOut.Forks, Empty: s.LeftOut.Empty, Excluded: s.LeftOut.Excluded},
		}
		for _, r := range s.Repos {
			l.Repos = append(l.Repos, ListedRepo{Name: r.Name, DefaultBranch: r.DefaultBranch})
		}
		all = append(all, l)
	}
	return all
}
