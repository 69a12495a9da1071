package packing_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/report/packing"
)

// unpacked returns a text that was packed.
func unpacked(p *packing.Packer, packed []byte) (string, error) {
	var text []byte
	err := p.Unpack(packed, func(in io.Reader) (err error) {
		text, err = io.ReadAll(in)
		return err
	})
	return string(text), err
}

// texts resemble each other, apart from the first and the last ones.
func texts() []string {
	all := []string{strings.Repeat("a text that is longer than the dictionary can be, ", 1000), ""}
	for i := range 50 {
		all = append(all, fmt.Sprintf(`{"tool": "read", "input": {"filePath": "cart.go", "offset": %d}}`, i))
	}
	return append(all, "\x00\xff", strings.Repeat("another long text, ", 10_000))
}

func TestUnpackRestoresEachText(t *testing.T) {
	var p packing.Packer
	var packed [][]byte
	for _, text := range texts() {
		packed = append(packed, p.Pack([]byte(text)))
	}
	var all sync.WaitGroup // as readers of one report do
	for i, want := range texts() {
		all.Go(func() {
			if got, err := unpacked(&p, packed[i]); err != nil || got != want {
				t.Errorf("text %d: %d bytes, want %d, %v", i, len(got), len(want), err)
			}
		})
	}
	all.Wait()
}

func TestTextsLikeTheFirstAreSmall(t *testing.T) {
	var p packing.Packer
	text := func(n int) []byte {
		return fmt.Appendf(nil, `{"type":"call","job":"fix-%d","call":{"tool":"edit","title":"cart.go","input":{"filePath":"cart.go","oldString":"a","newString":"b"},"status":"completed"}}`, n)
	}
	p.Pack(text(1))
	if got := len(p.Pack(text(2))); got > len(text(2))/4 {
		t.Errorf("%d of %d bytes", got, len(text(2)))
	}
}

func TestPackDoesNotRetainTheText(t *testing.T) {
	var p packing.Packer
	text := []byte("the first text is the dictionary")
	p.Pack(text)
	packed := p.Pack(text)
	clear(text)
	if got, err := unpacked(&p, packed); err != nil || got != "the first text is the dictionary" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestUnpackReturnsErrors(t *testing.T) {
	var p packing.Packer
	packed := p.Pack([]byte(strings.Repeat("some text ", 100)))
	for name, data := range map[string][]byte{"truncated": packed[:len(packed)/2], "empty": nil, "other bytes": bytes.Repeat([]byte{0xff}, 40)} {
		if text, err := unpacked(&p, data); err == nil {
			t.Errorf("%s: %q", name, text)
		}
	}
	own := errors.New("of the reader")
	if err := p.Unpack(packed, func(io.Reader) error { return own }); !errors.Is(err, own) {
		t.Errorf("%v", err)
	}
	if text, err := unpacked(&p, packed); err != nil || len(text) != 1000 { // with the decompressor that failed before
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
