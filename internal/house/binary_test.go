package house

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"testing"

	"github.com/millhand/millhand/internal/command"
)

// Where a template can be executed, methods are called by names that only the
// running program knows, and the linker keeps every exported method of every
// type: 34 MB of the program. The SDKs of providers, which are for tests, were 25 MB of it. This
// test binary links what the program does. No test of this package may import go-cmp, which has
// the same effect as templates.
func TestTheBinaryContainsNo(t *testing.T) {
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
	if !bytes.Contains(names, []byte("internal/command.dispatch")) {
		t.Error("the program is not linked")
	}
	for what, name := range map[string]string{
		"execution of text templates": "text/template.(*state)",
		"execution of HTML templates": "html/template.(*Template)",
		"SDK of OpenAI":               "github.com/openai/openai-go",
		"SDK of Anthropic":            "github.com/anthropics/anthropic-sdk-go",
		"way to arm failpoints":       "internal/failpoint.Arm", // they are for tests
	} {
		t.Run(what, func(t *testing.T) {
			if bytes.Contains(names, []byte(name)) {
				t.Errorf("%s is linked: go build -ldflags=-dumpdep says by what", name)
			}
		})
	}
}
