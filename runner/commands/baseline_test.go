package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/ending"
)

func TestBaselinesAreSharedAndHandedOver(t *testing.T) {
	var b Baselines
	results := []event.Baseline{{Name: "tests"}}
	started, finish := make(chan struct{}), make(chan struct{})
	type outcome struct {
		shared bool
		end    *ending.Stop
	}
	first, second := make(chan outcome), make(chan outcome)
	go func() { // it is cancelled
		_, shared, end := b.Share(t.Context(), "k", func() ([]event.Baseline, *ending.Stop) {
			close(started)
			<-finish
			return nil, &ending.Stop{Code: event.CodeInterrupted}
		})
		first <- outcome{shared, end}
	}()
	<-started
	go func() { // it waits, and then runs the commands
		_, shared, end := b.Share(t.Context(), "k", func() ([]event.Baseline, *ending.Stop) { return results, nil })
		second <- outcome{shared, end}
	}()
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	if _, _, end := b.Share(gone, "k", nil); end == nil || end.Detail != "gone" {
		t.Errorf("a job that is cancelled while it waits: %+v", end)
	}
	close(finish)
	if got := <-first; got.end == nil || got.shared {
		t.Errorf("the cancelled job: %+v", got)
	}
	if got := <-second; got.end != nil || got.shared {
		t.Errorf("the next job: %+v", got)
	}
	got, shared, end := b.Share(t.Context(), "k", nil)
	if len(got) != 1 || !shared || end != nil {
		t.Errorf("a later job: %+v, %v, %+v", got, shared, end)
	}
	func() {
		defer func() { _ = recover() }()
		b.Share(t.Context(), "panic", func() ([]event.Baseline, *ending.Stop) { panic("no") })
	}()
	if _, shared, end := b.Share(t.Context(), "panic", func() ([]event.Baseline, *ending.Stop) { return results, nil }); shared || end != nil {
		t.Errorf("after a panic: %v, %+v", shared, end)
	}
}

// The prompt has the outputs of the first commands only.
func TestBaselineInThePromptIsBounded(t *testing.T) {
	results := []event.Baseline{{Name: "vet", Passed: true, Tail: "nothing"}}
	for i := range maxBaselines + 2 {
		results = append(results, event.Baseline{Name: fmt.Sprintf("check-%d", i), ExitCode: 3, Tail: strings.Repeat("line\n", 100) + fmt.Sprintf("end-%d\n", i)})
	}
	text := BaselineText(results, nil)
	if !strings.Contains(text, "these verify commands of the task fail (7 of 8)") || strings.Contains(text, "vet") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	for i := range maxBaselines + 2 {
		check, end := fmt.Sprintf("<check name=%q result=\"exit code 3\">", fmt.Sprintf("check-%d", i)), fmt.Sprintf("line\nend-%d\n</check>", i)
		if !strings.Contains(text, check) || strings.Contains(text, end) != (i < maxBaselines) {
			t.Errorf("check %d in\n%s", i, text)
		}
	}
}
