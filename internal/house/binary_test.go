package house

import (
	"bytes"
	"testing"
)

// TestTheProgramCannotArmFailpoints searches for the function that arms them, which is for tests.
func TestTheProgramCannotArmFailpoints(t *testing.T) {
	if bytes.Contains(functionNames(t), []byte("internal/failpoint.Arm")) {
		t.Error("failpoint.Arm is linked: go build -ldflags=-dumpdep says by what")
	}
}
