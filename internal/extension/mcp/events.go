package mcp

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"time"
)

// events are the server-sent events of one or more streams, one after the other.
type events struct {
	last  string        // id of the last event; "" for none
	retry time.Duration // what the server asks to wait before the stream is opened again
	count int           // events with data

	lines *bufio.Reader
}

// read starts to read another stream.
func (s *events) read(r io.Reader) { s.lines = bufio.NewReaderSize(r, 64<<10) }

const (
	maxEventID = 1024
	maxRetry   = 30 * time.Second
)

// next returns the data of the next event that has a message. Its error is errMessageSize for a
// larger one. An event that is incomplete at the end of the stream is ignored, its id, too.
func (s *events) next() ([]byte, error) {
	var data []byte
	kind, id := "", s.last
	for {
		line, err := readLine(s.lines)
		if err != nil {
			return nil, err
		}
		if line[len(line)-1] != '\n' {
			return nil, io.ErrUnexpectedEOF
		}
		line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
		if len(line) == 0 { // the end of the event
			s.last = id
			if data = bytes.TrimSpace(data); len(data) > 0 && (kind == "" || kind == "message") {
				s.count++
				return data, nil
			}
			data, kind = nil, ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(data)+len(value) >= maxMessage {
				return nil, errMessageSize
			}
			data = append(append(data, value...), '\n')
		case "event":
			kind = string(value)
		case "id":
			if len(value) <= maxEventID && !bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				s.retry = min(time.Duration(ms)*time.Millisecond, maxRetry)
			}
		}
	}
}
