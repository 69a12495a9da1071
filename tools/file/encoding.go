package file

import (
	"bufio"
	"bytes"
	"context"
	bits "encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/patch"
)

// encoding is how a file encodes its text. The zero value is UTF-8.
type encoding struct {
	wide    bits.AppendByteOrder // of UTF-16, or nil
	unknown int                  // number of bytes that are not UTF-8
	opaque  bool                 // probably UTF-16 or UTF-32 that can't be decoded
}

// decodeText returns the text of a file. Only UTF-16 with a byte-order mark is
// converted, if that can be reversed; other text has the bytes of the file.
func decodeText(data []byte) (string, encoding) {
	for _, wide := range []interface {
		bits.ByteOrder
		bits.AppendByteOrder
	}{bits.LittleEndian, bits.BigEndian} {
		if len(data)%2 != 0 || len(data) < 2 || wide.Uint16(data) != 0xFEFF {
			continue
		}
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = wide.Uint16(data[2*i:])
		}
		text := string(utf16.Decode(units))
		enc := encoding{wide: wide}
		if !strings.Contains(text, "\x00") && bytes.Equal(enc.encode(text), data) {
			return text, enc
		}
	}
	return string(data), encoding{unknown: invalid(string(data)), opaque: opaque(data)}
}

// decodeAll is decodeText for a file that starts with a byte-order mark of UTF-16.
func decodeAll(in io.Reader) (string, encoding, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxEdit+1))
	switch {
	case err != nil:
		return "", encoding{}, err
	case len(data) > maxEdit:
		return "", encoding{}, workspace.ErrTooLarge
	}
	text, enc := decodeText(data)
	if enc.opaque {
		return "", enc, errors.New("it is a binary file, or invalid UTF-16, and can't be shown as text")
	}
	return text, enc, nil
}

// encode is the inverse of decodeText.
func (e encoding) encode(text string) []byte {
	if e.wide == nil {
		return []byte(text)
	}
	out := make([]byte, 0, 2*len(text)+2)
	if !strings.HasPrefix(text, byteOrderMark) {
		text = byteOrderMark + text
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = e.wide.AppendUint16(out, u)
	}
	return out
}

// name returns the name of the encoding for models, "" for UTF-8.
func (e encoding) name() string {
	switch e.wide {
	case nil:
		return ""
	case bits.LittleEndian:
		return "UTF-16LE"
	}
	return "UTF-16BE"
}

// opaque reports whether data starts with the byte-order mark of UTF-16 or UTF-32,
// or has NUL bytes as UTF-16 without a mark has them: many, at all odd or all even
// offsets.
func opaque(data []byte) bool {
	if marked16(data) || bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")) {
		return true
	}
	data = data[:min(len(data), headSize)]
	var nul [2]int
	for i, c := range data {
		if c == 0 {
			nul[i%2]++
		}
	}
	return len(data) >= 8 && min(nul[0], nul[1]) == 0 && 5*max(nul[0], nul[1]) >= len(data)
}

// marked16 reports whether data starts with a byte-order mark of UTF-16.
func marked16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

// invalid counts the bytes of a text that are not UTF-8.
func invalid(text string) int {
	n := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			n++
		}
		text = text[size:]
	}
	return n
}

// The errors about files whose encoding is not known.
var (
	errOpaque      = errors.New("it is not UTF-8 and can't be decoded (binary, or UTF-16 or UTF-32 without a valid byte-order mark); use a command to change it")
	errReplacement = errors.New("the old text contains U+FFFD, which stands for bytes that are not UTF-8; use old text without them, or a command such as perl or iconv")
	errOtherBytes  = errors.New("oldString not found in file: the file is not UTF-8, and has other bytes for characters that are not ASCII; use old text without them, or a command such as perl or iconv")
	errNewText     = errors.New("its encoding is unknown (not UTF-8), so that new text must be ASCII; use a command such as perl or iconv for other text")
	errTrailing    = errors.New("the old text is found directly after a byte that is not UTF-8, and may be a part of the same character; start it at a space or a line break, or use a command such as perl or iconv")
)

// editable returns an error if old can't be replaced by new in a text of this
// encoding without mixing encodings.
func (e encoding) editable(old, new string) error {
	switch {
	case e.opaque:
		return errOpaque
	case e.unknown == 0:
	case strings.ContainsRune(old, utf8.RuneError):
		return errReplacement
	case !contained(new, old):
		return errNewText
	}
	return nil
}

// contained reports whether new has no character beyond ASCII more often than old.
func contained(new, old string) bool {
	count := map[rune]int{}
	for _, r := range old {
		count[r]++
	}
	for _, r := range new {
		if count[r]--; r >= utf8.RuneSelf && count[r] < 0 {
			return false
		}
	}
	return true
}

// trailing reports whether old occurs in text directly after a byte that is not
// UTF-8, where it may be the second byte of a character, as in Shift-JIS and GBK.
func trailing(text, old string) bool {
	if old == "" || old[0] < '0' {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return false
		}
		at += i
		if r, size := utf8.DecodeLastRuneInString(text[:at]); r == utf8.RuneError && size == 1 {
			return true
		}
	}
}

// replaceable returns an error if a file can't be overwritten without losing bytes that
// its reader has not seen.
func (e encoding) replaceable(p workspace.Path, text string) error {
	switch {
	case e.opaque:
		return fmt.Errorf("%s would lose its encoding: %w, or delete it first to replace it", p, errOpaque)
	case e.unknown > 0 && !media.IsBinary(p.Rel, []byte(text[:min(len(text), headSize)])):
		return fmt.Errorf("%s is not UTF-8, and %s (shown as U+FFFD) would be lost: use edit to change a part of it, or delete it first to replace it", p, figures.Count(e.unknown, "byte"))
	}
	return nil
}

// replaceableLarge is replaceable for a file that is too large to be decoded.
func replaceableLarge(ctx context.Context, env Env, p workspace.Path) error {
	f, err := env.Workspace.OpenFile(p)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	head, err := in.Peek(headSize)
	if err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	enc := encoding{opaque: opaque(head)}
	if !enc.opaque && media.IsBinary(p.Rel, head) {
		return nil
	}
	for n := 0; !enc.opaque; n++ {
		r, size, err := in.ReadRune()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && n%(1<<20) == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		if r == utf8.RuneError && size == 1 {
			enc.unknown++
		}
	}
	return enc.replaceable(p, "")
}

// patchable returns an error if the sections of a patch for a file, also for what
// it is moved to, would mix encodings or lose bytes.
func (e encoding) patchable(sections []patch.File, name string, p workspace.Path, text string) error {
	for _, f := range sections {
		if path.Clean(f.Path) != path.Clean(name) {
			continue
		}
		if f.Op == patch.Delete {
			return nil // what is added afterwards is another file
		}
		if f.Op == patch.Add {
			return e.replaceable(p, text)
		}
		for _, h := range f.Hunks {
			var old, new strings.Builder
			for _, line := range slices.Concat(h.Contexts, h.Lines) {
				to := &old
				if strings.HasPrefix(line, "+") {
					to = &new
				}
				to.WriteString(line)
			}
			if err := e.editable(old.String(), new.String()); err != nil {
				return err
			}
		}
		if f.MoveTo != "" {
			name = f.MoveTo
		}
	}
	return nil
}
