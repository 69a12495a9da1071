package house

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"testing"

	"github.com/millhand/millhand/internal/command"
)

// card is what the packages that the design names do in the program. The linker removes functions
// that nothing calls, so a function here is called by the program.
var card = []struct{ does, function string }{
	{"openai-go sends every request of Chat Completions", "github.com/openai/openai-go/v3.(*ChatCompletionService).NewStreaming"},
	{"openai-go sends every request of Responses", "github.com/openai/openai-go/v3/responses.(*ResponseService).NewStreaming"},
	{"openai-go decodes the events of responses", "github.com/openai/openai-go/v3/packages/ssestream.(*Stream[go.shape"},
	{"anthropic-sdk-go sends every request of Messages", "github.com/anthropics/anthropic-sdk-go.(*MessageService).NewStreaming"},
	{"yaml.v3 reads every manifest", "gopkg.in/yaml%2ev3.(*Decoder).Decode"},
	{"go-git writes every commit object", "github.com/go-git/go-git/v5/plumbing/object.(*Commit).encode"},
	{"zerolog writes the JSON log", "github.com/rs/zerolog.(*Event).Msg"},
}

// TestTheCardsPackagesDoTheWork fails when the program does not call a package of the card for
// what it is there for. What the calls do is checked beside them: that each request has the headers
// of its SDK (internal/model/provider).
func TestTheCardsPackagesDoTheWork(t *testing.T) {
	names := functionNames(t)
	for _, row := range card {
		if !bytes.Contains(names, []byte(row.function)) {
			t.Errorf("%s: %s is not linked", row.does, row.function)
		}
	}
}

// functionNames returns the names of the functions that the program contains. The binary of this test
// links what the program does.
func functionNames(t *testing.T) []byte {
	t.Helper()
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
