package state

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// readLiteral decodes a section of a binary patch.
func readLiteral(text string) ([]byte, error) {
	head, rest, _ := strings.Cut(text, "\n")
	var size int
	if _, err := fmt.Sscanf(head, "literal %d", &size); err != nil {
		return nil, err
	}
	var packed []byte
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			break
		}
		n := int(line[0]-'A') + 1
		if line[0] >= 'a' {
			n = int(line[0]-'a') + 27
		}
		var bytes []byte
		for five := range slices.Chunk([]byte(line[1:]), 5) {
			var value uint32
			for _, digit := range five {
				value = value*85 + uint32(strings.IndexByte(alphabet85, digit))
			}
			bytes = binary.BigEndian.AppendUint32(bytes, value)
		}
		if n > len(bytes) || len(bytes)-n > 3 {
			return nil, fmt.Errorf("line of %d bytes has %d", n, len(bytes))
		}
		packed = append(packed, bytes[:n]...)
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(z)
	if err == nil && len(data) != size {
		err = fmt.Errorf("%d bytes, want %d", len(data), size)
	}
	return data, err
}

func FuzzBinaryPatchRoundTrip(f *testing.F) {
	for _, seed := range []string{"", "a", binaryText, strings.Repeat("xyz", 1000), "\xff\xff\xff\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		if err := writeLiteral(&out, data); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 1+65+1 {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
		got, err := readLiteral(out.String())
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %q, %v; want %q", got, err, data)
		}
	})
}

// applyHunks applies the output of writeHunks strictly.
func applyHunks(before []byte, hunks string) (string, error) {
	lines := splitLines(before)
	var out strings.Builder
	at := 0
	hunk := slices.Collect(strings.Lines(hunks))
	for i := range hunk {
		if strings.HasPrefix(hunk[i], "@@") {
			from := hunkStart(hunk[i])
			for ; at < from; at++ {
				out.WriteString(lines[at])
			}
			continue
		}
		text := hunk[i][1:]
		if i+1 < len(hunk) && strings.HasPrefix(hunk[i+1], `\ No newline`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch sign := hunk[i][0]; sign {
		case ' ', '-':
			if at >= len(lines) || lines[at] != text {
				return "", fmt.Errorf("line %d does not match %q", at, text)
			}
			at++
			if sign == ' ' {
				out.WriteString(text)
			}
		case '+':
			out.WriteString(text)
		case '\\':
		default:
			return "", fmt.Errorf("bad line %q", hunk[i])
		}
	}
	return out.String() + strings.Join(lines[at:], ""), nil
}

// hunkStart returns the number of lines before a hunk.
func hunkStart(header string) int {
	var from int
	count := 1
	if n, _ := fmt.Sscanf(header, "@@ -%d,%d", &from, &count); n == 0 {
		return 0
	}
	if count == 0 {
		return from
	}
	return from - 1
}

func FuzzHunksApply(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nB\nc"))
	f.Add([]byte(""), []byte("x"))
	f.Add([]byte("x"), []byte(""))
	f.Add([]byte(strings.Repeat("a\nb\nc\nd\n", 40)), []byte(strings.Repeat("a\nc\nb\nd\n", 40)))
	f.Add([]byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), []byte("0\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"))
	f.Add([]byte("x\r\ny\r\n\n"), []byte("x\ny\r\n"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		a, b := splitLines(before), splitLines(after)
		var out bytes.Buffer
		writeHunks(&out, a, b)
		if got, err := applyHunks(before, out.String()); err != nil || got != string(after) {
			t.Errorf("%q to %q: got %q, %v\n%s", before, after, got, err, out.String())
		}
	})
}
