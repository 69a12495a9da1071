package html

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Limits of the compressed details, in bytes of the file.
const (
	maxBlocks = 48 << 20 // of all jobs
	maxBlock  = 8 << 20  // of one
	maxPlain  = 32 << 20 // of one that is not compressed: browsers are slow with more
)

// maxGroup is the number of bytes from which on the details of a job are compressed alone again. Before, they are
// compressed after those of the jobs before, which resemble them: the file is several times smaller, and opens faster.
const maxGroup = 1 << 20

// compression is the level of the compressed details. With the default, which needs
// longer, a page is hardly smaller.
const compression = 5

// errLong is the error of details that are longer than maxPlain.
var errLong = errors.New("too long")

// bounds are the maximum lengths of texts in the details of a job, in bytes.
type bounds struct {
	result int // of a result, an argument, the output of a verify command
	text   int // of a message of the model and a prompt
	patch  int
}

// levels are the bounds that are tried until the details fit.
var levels = []bounds{
	{16 << 10, 64 << 10, 512 << 10},
	{4 << 10, 16 << 10, 64 << 10},
	{1 << 10, 4 << 10, 16 << 10},
	{200, 1 << 10, 2 << 10},
}

// blocks writes the details of the jobs, and divides the space among them.
type blocks struct {
	left, jobs int // bytes and jobs
	level      int // of the last job
	group      int // bytes that are compressed together so far, before they are
	deflate    *flate.Writer
	plain      bytes.Buffer
	packed     bytes.Buffer
}

func newBlocks(jobs, size int) *blocks {
	deflate, err := flate.NewWriter(nil, compression)
	if err != nil {
		panic(err) // unreachable: the level is valid
	}
	return &blocks{left: size, jobs: jobs, deflate: deflate}
}

// write writes the details of a job, with the longest texts that fit, as one line: their length in bytes
// before they were compressed, and a section of a stream. With a plus sign before it, the section follows that of the line before.
func (b *blocks) write(out *bytes.Buffer, p *jobPage) error {
	share := min(2*b.left/(b.jobs+1), maxBlock) // the last but one leaves a third
	content := func(level int) g.Node {
		if level == len(levels) {
			return h.P(g.Text("The details of this job are too long for this file: see report.json and sessions/."))
		}
		return p.render(levels[level])
	}
	start, level := out.Len(), max(0, b.level-1)
	fits := false
	if b.group > 0 && b.group < maxGroup {
		var err error
		if fits, err = b.pack(content(level), share); err != nil {
			return err
		}
	}
	if fits {
		out.WriteByte('+')
	}
	for ; !fits; level++ {
		b.group = 0
		var err error
		if fits, err = b.pack(content(level), share); err != nil {
			return err
		}
		if fits || level == len(levels) {
			break
		}
	}
	b.level = level
	out.WriteString(strconv.Itoa(b.plain.Len()) + " ")
	encoder := base64.NewEncoder(base64.StdEncoding, out)
	encoder.Write(b.packed.Bytes()) //nolint:errcheck // writes to a buffer do not fail
	encoder.Close()
	out.WriteByte('\n')
	b.left = max(0, b.left-(out.Len()-start))
	b.jobs--
	return nil
}

// pack renders and compresses the content, and reports whether it has at most a length in bytes. It starts another stream if
// the group is empty.
func (b *blocks) pack(content g.Node, most int) (fits bool, err error) {
	b.plain.Reset()
	if err := content.Render((*plain)(&b.plain)); err != nil {
		if errors.Is(err, errLong) {
			return false, nil
		}
		return false, err
	}
	b.packed.Reset()
	if b.group == 0 {
		b.deflate.Reset(&b.packed)
	}
	if _, err := b.deflate.Write(b.plain.Bytes()); err != nil {
		return false, err
	}
	b.group += b.plain.Len()
	err = b.deflate.Flush()
	return base64.StdEncoding.EncodedLen(b.packed.Len()) <= most, err
}

// plain is a buffer that refuses what is longer than maxPlain.
type plain bytes.Buffer

func (p *plain) Write(chunk []byte) (int, error) {
	b := (*bytes.Buffer)(p)
	if b.Len()+len(chunk) > maxPlain {
		return 0, errLong
	}
	return b.Write(chunk)
}
