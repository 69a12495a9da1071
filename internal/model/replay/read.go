package replay

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/model"
)

const (
	sizeLimit     = 1 << 30 // bytes of a recording
	exchangeLimit = 1 << 20 // exchanges of a recording
)

// Recording has the requests of a run and the responses of its models. It is safe for
// concurrent use; its players share the exchanges.
type Recording struct {
	name    string
	canon   *model.Canon
	prompts map[string]string // system prompts by their digest

	mu   sync.Mutex
	jobs map[string][]*exchange // in the order in which they were recorded
}

// exchange is one of a recording, which is played once.
type exchange struct {
	model.Exchange
	line   int
	played bool
}

// Open reads the recording at path for a run that has the given canon, which
// must have the placeholders and the redaction of the recorded run.
func Open(path string, c *model.Canon) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	defer f.Close()
	return Read(f, path, c)
}

// Read is Open for a reader; errors call it by name. An incomplete last line, as a
// killed run leaves it, is ignored.
func Read(in io.Reader, name string, c *model.Canon) (*Recording, error) {
	r := &Recording{name: name, canon: c, prompts: map[string]string{}, jobs: map[string][]*exchange{}}
	limited := &io.LimitedReader{R: in, N: sizeLimit + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, model.ExchangeLimit)
	lines.Split(completeLines)
	n := 0
	for lines.Scan() {
		if n++; n > exchangeLimit {
			return nil, fmt.Errorf("read the recording %s: it has more than %d exchanges", name, exchangeLimit)
		}
		e, err := decode(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("read the recording: %s:%d: %w", name, n, err)
		}
		r.add(e, n)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the recording: %s:%d: %w", name, n+1, err)
	}
	if limited.N == 0 {
		return nil, fmt.Errorf("read the recording %s: it has more than %d bytes", name, sizeLimit)
	}
	return r, nil
}

// completeLines is a [bufio.SplitFunc] of lines that end with a newline.
func completeLines(data []byte, _ bool) (advance int, token []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	return 0, nil, nil
}

func decode(line []byte) (model.Exchange, error) {
	var e model.Exchange
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("decode an exchange: %w", err)
	}
	if e.Version != model.RecordingVersion {
		return e, fmt.Errorf("version %d is not supported, only %d: record the run again", e.Version, model.RecordingVersion)
	}
	if sum, err := hex.DecodeString(e.Request.Hash); err != nil || len(sum) != 32 {
		return e, fmt.Errorf("invalid request hash %.80q", e.Request.Hash)
	}
	if (e.Response == nil) == (e.Error == nil) {
		return e, errors.New("an exchange has either a response or an error")
	}
	return e, nil
}

func (r *Recording) add(e model.Exchange, line int) {
	if e.Request.Prompt != "" {
		r.prompts[e.Request.System] = e.Request.Prompt
	}
	r.jobs[e.Job] = append(r.jobs[e.Job], &exchange{Exchange: e, line: line})
}

// Jobs returns the names under which exchanges were recorded, sorted.
func (r *Recording) Jobs() []string { return slices.Sorted(maps.Keys(r.jobs)) }
