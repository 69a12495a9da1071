package pass

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/follow"
	"github.com/millhand/millhand/internal/forge"
)

// read reads what the decision depends on. What cannot matter is not requested.
func (p *followed) read(ctx context.Context) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	comment, err := p.client.Sticky(ctx, p.at, forge.Thread{Number: p.pr.Number}, p.marker())
	if err != nil {
		return err
	}
	labelled := slices.Contains(p.pr.Labels, follow.Label)
	p.state = follow.Parse(comment.Text).Resumed(labelled)
	p.pull = follow.Pull{
		Labelled: labelled, Head: p.pr.SHA, Ours: p.past.Made(p.job.ID, p.pr.SHA) && p.pr.Head.Branch == p.job.Published.Branch,
		Conflict: p.pr.Conflict, Updated: p.pr.Updated,
	}
	if p.pr.State != forge.Open {
		p.pull.Closed = string(p.pr.State)
	}
	return p.readMore(ctx)
}

// readMore reads checks and remarks, if they can matter.
func (p *followed) readMore(ctx context.Context) error {
	if follow.Decide(p.pull, p.state, p.settings, p.World.Now()).Reason != follow.NothingToDo {
		return nil
	}
	if err := p.readChecks(ctx); err != nil || !p.settings.Review {
		return err
	}
	return p.readRemarks(ctx)
}

// readChecks reads the checks, and of new failures their logs.
func (p *followed) readChecks(ctx context.Context) error {
	if !p.settings.Checks || p.pr.Checks == forge.NoChecks || p.pr.Checks == forge.ChecksPassed {
		return nil
	}
	list, err := p.client.CheckList(ctx, p.at, p.pr.SHA)
	if err != nil {
		return err
	}
	p.pull.Checks = converted(list)
	if failed, _ := follow.NewFailures(p.pull); len(failed) == 0 || p.pr.BaseSHA == "" {
		return nil
	}
	base, err := p.client.CheckList(ctx, p.at, p.pr.BaseSHA)
	if err != nil {
		return err
	}
	if p.pull.Base = converted(base); slices.ContainsFunc(p.pull.Base, func(c follow.Check) bool { return c.Failed }) {
		return nil
	}
	for i, c := range list {
		if c.Status != forge.ChecksFailed {
			continue
		}
		log, err := p.client.CheckLog(ctx, p.at, c, follow.MaxLog)
		if err != nil {
			return err
		}
		if log == "" {
			log = c.Text
		}
		p.pull.Checks[i].Log = p.Known.Text(log)
	}
	return nil
}

func converted(list []forge.Check) []follow.Check {
	var all []follow.Check
	for _, c := range list {
		all = append(all, follow.Check{Name: c.Name, URL: c.URL, Failed: c.Status == forge.ChecksFailed, Pending: c.Status == forge.ChecksPending})
	}
	return all
}

// readRemarks reads what people with write access wrote.
func (p *followed) readRemarks(ctx context.Context) error {
	self, known := p.self[p.at.Owner]
	var err error
	if !known {
		if self, err = p.client.Self(ctx, p.at.Owner); err != nil {
			return err
		}
		p.self[p.at.Owner] = self
	}
	all, err := p.client.Remarks(ctx, p.at, p.pr.Number)
	if err != nil {
		return err
	}
	for _, r := range all {
		ours := r.Author == self && strings.Contains(r.Body, "<!-- millhand:")
		if r.Bot || ours || slices.Contains(p.state.Handled, r.ID) {
			continue
		}
		can, err := p.writes(ctx, r.Author)
		if err != nil {
			return err
		}
		if can {
			p.pull.Remarks = append(p.pull.Remarks, follow.Remark{ID: r.ID, Author: r.Author, URL: r.URL, Body: p.Known.Text(r.Body), Path: r.Path, Line: r.Line})
		}
	}
	return nil
}

// writes reports whether a user has write access. It is false, with a note, if the token may
// not know it.
func (p *followed) writes(ctx context.Context, user string) (bool, error) {
	key := p.at.String() + " " + user
	can, known := p.writers[key]
	if known {
		return can, nil
	}
	can, err := p.client.Writes(ctx, p.at, user)
	if errors.Is(err, forge.ErrDenied) {
		p.note("comments of " + user + " are ignored: " + err.Error())
		can, err = false, nil
	}
	if err == nil {
		p.writers[key] = can
	}
	return can, err
}
