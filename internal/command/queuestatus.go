package command

import (
	"cmp"
	"context"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/text/printable"
)

type queueStatusOptions struct {
	server queue.Options
	run    string
	watch  bool
	json   bool
}

func (o *queueStatusOptions) parse(args []string) (err error) {
	o.run, err = oneRun("queue status", args)
	return cmp.Or(err, checkServer(o.server, "queue status"))
}

// queueStatus prints the state of a run.
func queueStatus(ctx context.Context, w world.World, o queueStatusOptions) error {
	q, r, err := queued.Find(ctx, w, o.server, o.run)
	if err != nil {
		return err
	}
	defer q.Close()
	for s, err := range queued.States(ctx, w, q, r, o.watch) {
		switch {
		case err != nil:
		case o.json:
			err = printable.WriteJSON(w.Out, s)
		default:
			err = s.Print(w.Out, w.Now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
