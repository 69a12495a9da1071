package house

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"testing"

	"github.com/millhand/millhand/internal/command"
)

// TestTheProgramCannotArmFailpoints searches for the function that arms them, which is for tests.
// This test binary links what the program does.
func TestTheProgramCannotArmFailpoints(t *testing.T) {
	if exit := command.Main(t.Context(), []string{"millhand", "version"}, command.World{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}); exit != 0 {
		t.Fatalf("exit code %d", exit)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(self)
	if err != nil {
		t.Skipf("no ELF file: %v", err)
	}
	defer file.Close()
	table := file.Section(".gopclntab") // names every function, in a stripped binary too
	if table == nil {
		t.Fatal("the binary has no table of functions")
	}
	names, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(names, []byte("internal/command.newRoot")) {
		t.Error("the program is not linked")
	}
	if bytes.Contains(names, []byte("internal/failpoint.Arm")) {
		t.Error("failpoint.Arm is linked: go build -ldflags=-dumpdep says by what")
	}
}
