package house

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"testing"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/command"
)

// TestTheProgramCannotArmFailpoints searches for the function that arms them, which is for tests.
func TestTheProgramCannotArmFailpoints(t *testing.T) {
	if bytes.Contains(functionNames(t), []byte("internal/proc/failpoint.Arm")) {
		t.Error("failpoint.Arm is linked: go build -ldflags=-dumpdep says by what")
	}
}

// functionNames returns the names of the functions that the program contains. The binary of this test
// links what the program does.
func functionNames(t *testing.T) []byte {
	t.Helper()
	if exit := command.Main(t.Context(), []string{"millhand", "version"}, world.World{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}); exit != 0 {
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
	table := file.Section(".gopclntab") // in a stripped binary too
	if table == nil {
		t.Fatal("the binary has no table of functions")
	}
	names, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	return names
}
