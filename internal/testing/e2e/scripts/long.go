package scripts

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// endless serves, from now on, a model that reads for so many turns and then is
// done, and that refuses requests of more than so many tokens.
func endless(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: endless TURNS WINDOW")
	}
	turns, err := strconv.Atoi(args[0])
	ts.Check(err)
	window, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	server := wiretest.New(nil)
	server.Window = window
	var mu sync.Mutex
	made := 0
	server.Play = func(req wiretest.Request) *script.Turn {
		mu.Lock()
		defer mu.Unlock()
		if !strings.Contains(string(req.Body), `"tools"`) {
			return &script.Turn{Text: fmt.Sprintf("# Done\n%d turns.", made), Finish: model.FinishStop}
		}
		if made++; made > turns {
			return &script.Turn{Text: fmt.Sprintf("Done after %d turns.", made), Finish: model.FinishStop}
		}
		read := model.ToolCall{ID: fmt.Sprintf("call_%d", made), Name: "read", Input: fmt.Sprintf(`{"filePath":"big.txt","offset":%d}`, made)}
		return &script.Turn{Text: strings.Repeat("I think aloud. ", 60), Calls: []model.ToolCall{read}, Finish: model.FinishTools}
	}
	listening := httptest.NewServer(server)
	ts.Defer(func() {
		listening.CloseClientConnections()
		listening.Close()
	})
	ts.Setenv("OPENAI_BASE_URL", listening.URL+"/v1")
	ts.Setenv("OPENAI_API_KEY", "sk-test-key-of-the-endpoint")
	ts.Setenv("ENDPOINT", listening.URL+"/v1")
}

// lines writes a file of so many lines.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("a line of text that says next to nothing\n", n)), 0o644))
}
