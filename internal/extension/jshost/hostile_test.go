package jshost

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/proc"
)

// TestHostileHosts starts processes that do something else after a call than sending its response.
func TestHostileHosts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ does, err string }{
		"sends a response":             {`echo '{"id": 2, "result": {"output": "fine"}}'; cat`, ""},
		"sends responses of others":    {`echo '{"id": 1, "result": 1}'; echo '{"id": 99, "error": {"message": "x"}}'; echo '{"ask": 1, "for": 99}'; echo '{"id": 2, "result": {"output": "fine"}}'; cat`, ""},
		"sends its response twice":     {`echo '{"id": 2, "result": {"output": "fine"}}'; echo '{"id": 2, "result": {}}'; cat`, ""},
		"sends invalid UTF-8":          {`printf '{"id": 2, "result": {"output": "f\377"}}\n'; cat`, ""},
		"sends a text":                 {`echo hello; cat`, "it sent an invalid message"},
		"sends a list":                 {`echo '[{"id": 2}]'; cat`, "it sent an invalid message"},
		"sends an unknown kind":        {`echo '{"method": "x"}'; cat`, "it sent a message of an unknown kind"},
		"sends a result of another":    {`echo '{"id": 2, "result": [1]}'; cat`, "cannot unmarshal array"},
		"sends no result":              {`echo '{"id": 2}'; cat`, "unexpected end of JSON input"},
		"sends a long line":            {`head -c 40000000 /dev/zero; cat`, "its message exceeds 32 MiB"},
		"sends requests and reads not": {`yes '{"ask": 1, "for": 99}'`, "it has not read 10000 messages"},
		"asks very often":              {`yes '{"ask": 1, "for": 2, "params": {"permission": "wait"}}'`, "it asked for more than 10000 decisions at once"},
		"sends nothing":                {`cat`, "timed out after 100ms"},
		"reads and sends nothing":      {`sleep 1000`, "timed out after 100ms"},
		"closes its output":            {`exec 1>&-; echo why >&2; exit 3`, "it exited with code 3; standard error: why"},
		"exits":                        {`exit 0`, "it exited with code 0"},
		"is killed":                    {`kill -9 $$`, "it was killed by signal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 10 * time.Minute // for what must happen on a busy machine, too
			if strings.HasPrefix(tt.err, "timed out") {
				timeout = 100 * time.Millisecond
			}
			script := `read -r load; echo '{"id": 1, "result": {"name": "sh", "version": "1", "loaded": []}}'; read -r call; ` + tt.does
			h, _, err := Start(t.Context(), Config{
				Command:     proc.Command{Args: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: 100 * time.Millisecond},
				CallTimeout: timeout, HookTimeout: timeout, Now: time.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			go func() {
				for h.live.works() {
					time.Sleep(time.Millisecond)
				}
				end()
			}()
			res, err := h.Call(t.Context(), ToolCall{Name: "x"}, func(p Permission) error {
				if p.Permission == "wait" {
					<-ctx.Done()
				}
				return nil
			})
			if tt.err == "" && (err != nil || !strings.HasPrefix(res.Output, "f")) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%+v, %v; want %q", res, err, tt.err)
			}
			h.Close()
		})
	}
}
