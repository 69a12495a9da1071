package world

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// failing fails each write after the first n with an error, as a file does.
type failing struct {
	n   int
	err error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.n--; f.n >= 0 {
		return len(p), nil
	}
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: f.err}
}

func TestFaultOfOutputIsFirstOne(t *testing.T) {
	for name, tt := range map[string]struct {
		out  *failing
		want string
	}{
		"a later write fails":          {&failing{1, syscall.EIO}, "input/output error"},
		"a quota":                      {&failing{0, syscall.EDQUOT}, "disk quota exceeded"},
		"a reader that leaves later":   {&failing{1, syscall.EPIPE}, ""},
		"a stream that never fails":    {&failing{n: 10}, ""},
		"a stream that is not a file":  {&failing{0, iotest.ErrTimeout}, "timeout"},
		"a file that is not open":      {&failing{0, syscall.EBADF}, "bad file descriptor"},
		"a file at its maximum length": {&failing{0, syscall.EFBIG}, "file too large"},
	} {
		o := &Output{To: tt.out}
		World{Out: o}.KeepResult("reports/x")
		for range 3 {
			if n, err := o.Write([]byte("text")); n != 4 || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		err := o.Failure()
		switch {
		case err == nil && tt.want != "":
			t.Errorf("%s: no failure, want %q", name, tt.want)
		case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "reports/x")):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
