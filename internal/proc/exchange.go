package proc

import (
	"io"
	"time"
)

// Exchange writes a text to the standard input of a program, closes it, and waits for the end
// of the program. It returns the end of the standard output, at most limit bytes, and how the
// program ended, as [Run] does. Close is not required afterwards.
func (s *Service) Exchange(input []byte, limit int) (output []byte, res Result, err error) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.in.Write(input) //nolint:errcheck // a program need not read its input
		s.in.Close()
	}()
	tail := NewTail(limit)
	io.Copy(tail, s.out) //nolint:errcheck // the output until the end of the program
	res, err = s.Result()
	s.in.SetWriteDeadline(time.Unix(1, 0)) //nolint:errcheck // only a process that left the group can still have it open
	<-written
	s.out.Close()
	s.cancel()
	return tail.Bytes(), res, err
}
