package objectdb

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// errCompressed is the error for data that differ from the header of their object.
var errCompressed = errors.New("invalid compressed data")

// inflater decompresses one object after the other.
type inflater struct {
	in *bufio.Reader
	z  io.ReadCloser
}

// open starts to decompress data. The caller returns the inflater to the pool.
func (d *decoder) open(r io.Reader) (*inflater, error) {
	i, _ := d.inflaters.Get().(*inflater)
	if i == nil {
		i = &inflater{in: bufio.NewReader(nil)}
	}
	i.in.Reset(r)
	var err error
	if i.z == nil {
		i.z, err = zlib.NewReader(i.in)
	} else {
		err = i.z.(zlib.Resetter).Reset(i.in, nil)
	}
	return i, err
}

// inflate decompresses data of a known size.
func (d *decoder) inflate(r io.Reader, size int64) ([]byte, error) {
	i, err := d.open(r)
	if err != nil {
		return nil, err
	}
	defer d.inflaters.Put(i)
	return readExactly(i.z, size)
}

// inflateHead decompresses the first bytes of data.
func (d *decoder) inflateHead(r io.Reader, n int) ([]byte, error) {
	i, err := d.open(r)
	if err != nil {
		return nil, err
	}
	defer d.inflaters.Put(i)
	return head(i.z, n)
}

// head reads up to n bytes.
func head(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	n, err := io.ReadFull(r, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // there are no more
	}
	return b[:n], err
}

// firstBuffer is the maximum size of the buffer that is allocated before any data is read.
const firstBuffer = 1 << 20

// readExactly reads data of a size that a file claims.
func readExactly(r io.Reader, size int64) ([]byte, error) {
	data := make([]byte, min(size, firstBuffer))
	for n := 0; ; {
		k, err := io.ReadFull(r, data[n:])
		if err != nil {
			return nil, errors.Join(errCompressed, err)
		}
		if n += k; int64(n) == size {
			break
		}
		data = append(data, make([]byte, min(int64(n), size-int64(n)))...)
	}
	var more [1]byte
	if _, err := io.ReadFull(r, more[:]); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errCompressed, err) // longer, or its checksum is another
	}
	return data, nil
}

// maxLooseHeader is an upper limit of the size of the header of a loose object.
const maxLooseHeader = 32

// loose reads the object of a file and closes it.
func (d *decoder) loose(f *os.File, hash plumbing.Hash) (*stored, error) {
	defer f.Close()
	i, err := d.open(f)
	if err != nil {
		return nil, err
	}
	defer d.inflaters.Put(i)
	kind, size, rest, err := looseHeader(i.z)
	if err != nil {
		return nil, err
	}
	data, err := readExactly(io.MultiReader(bytes.NewReader(rest), i.z), size)
	if err != nil {
		return nil, err
	}
	return d.putNamed(cacheKey{hash: hash}, &stored{kind: kind, data: data}, hash)
}

// looseSize reads the size of the object of a file and closes it.
func (d *decoder) looseSize(f *os.File) (int64, error) {
	defer f.Close()
	i, err := d.open(f)
	if err != nil {
		return 0, err
	}
	defer d.inflaters.Put(i)
	_, size, _, err := looseHeader(i.z)
	return size, err
}

// looseHeader reads the header of a loose object, and returns what was read after it.
func looseHeader(r io.Reader) (kind plumbing.ObjectType, size int64, rest []byte, err error) {
	b, err := head(r, maxLooseHeader)
	if err != nil {
		return 0, 0, nil, err
	}
	text, rest, _ := bytes.Cut(b, []byte{0})
	name, number, _ := strings.Cut(string(text), " ")
	if kind, err = plumbing.ParseObjectType(name); err != nil {
		return 0, 0, nil, err
	}
	n, err := strconv.ParseUint(number, 10, 62)
	return kind, int64(n), rest, err
}
