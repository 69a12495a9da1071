package event_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// chained returns a chained stream of events about two jobs.
func chained(t *testing.T, n int) (lines []string, c *event.Chain) {
	t.Helper()
	c = &event.Chain{}
	for i := range n {
		e := event.Event{Seq: int64(i + 1), Type: event.WarningIssued, Job: []string{"", "a", "b"}[i%3], Prev: c.Head(), Warning: &event.Warning{Message: strings.Repeat("x", i)}}
		line, err := event.Line(e)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(e, event.LineHash(line))
		lines = append(lines, string(line))
	}
	return lines, c
}

// follow checks a chained stream, and returns its chain.
func follow(lines []string) (*event.Chain, error) {
	c := &event.Chain{}
	_, err := event.ReadLines(strings.NewReader(strings.Join(lines, "\n")+"\n"), func(e event.Event, line []byte) error {
		if err := c.Check(e); err != nil {
			return err
		}
		c.Add(e, event.LineHash(line))
		return nil
	})
	return c, err
}

func TestAChainHasTheHashesOfItsLines(t *testing.T) {
	lines, want := chained(t, 7)
	got, err := follow(lines)
	if err != nil || got.Head() != want.Head() || got.Job("a") != event.LineHash([]byte(lines[4])) || got.Job("b") != event.LineHash([]byte(lines[5])) || got.Job("c") != got.Head() || len(got.Jobs()) != 2 {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	if !bytes.Contains([]byte(lines[6]), []byte(`"prev":"`+got.Job("b")+`"`)) {
		t.Errorf("%s does not have the hash of the line before", lines[6])
	}
}

func TestAChainDetectsOtherLines(t *testing.T) {
	lines, _ := chained(t, 7)
	for name, bad := range map[string][]string{
		"removed":      append(append([]string{}, lines[:3]...), lines[4:]...),
		"first":        lines[1:],
		"reordered":    {lines[0], lines[2], lines[1], lines[3]},
		"repeated":     {lines[0], lines[0]},
		"not the same": {lines[0], mustLine(t, 2, "")},
	} {
		if _, err := follow(bad); err == nil {
			t.Errorf("%s: not detected", name)
		}
	}
}

func mustLine(t *testing.T, seq int64, prev string) string {
	t.Helper()
	line, err := event.Line(event.Event{Seq: seq, Prev: prev, Type: event.RunEnded})
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}
