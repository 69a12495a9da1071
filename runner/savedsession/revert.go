package savedsession

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/runner/history"
)

// RevertTo returns a run that reverts a job that has ended to a turn of its session, 0 for the
// state before the agent. dir is the report directory. It changes nothing.
func RevertTo(past *history.Past, dir, job string, turn int) (history.Run, error) {
	to := history.Order{Do: history.Revert{Turn: turn}, Job: job}
	if _, err := history.Decide(past, to); err != nil {
		return history.Run{}, err
	}
	state, err := readJournal(dir, job)
	if err != nil {
		return history.Run{}, err
	}
	point, err := state.AfterTurn(turn)
	if err != nil {
		return history.Run{}, fmt.Errorf("%w: use 0 for the state before the agent, or one of %s", err, listedTurns(state))
	}
	to.Do = history.Revert{Turn: turn, Tree: cmp.Or(point.Tree, past.Job(job).FirstTree())}
	return history.Decide(past, to)
}

func listedTurns(state *journal.State) string {
	var names []string
	for _, n := range state.TurnNumbers() {
		names = append(names, strconv.Itoa(n))
	}
	return listed(names)
}
