package wire

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/proc"
)

// A command for the key that the machine refuses to start does not make the key a wrong one.
func TestACommandThatTheMachineRefusesIsNoWrongKey(t *testing.T) {
	for err, want := range map[error]model.ErrorClass{
		errors.New("exit code 1"):               model.ClassAuth,
		&proc.MachineError{Err: syscall.EAGAIN}: model.ClassMachine,
	} {
		if got := model.ClassOf((&Endpoint{Faults: Faults{secrets: strings.NewReplacer()}}).noKey(t.Context(), err)); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}
