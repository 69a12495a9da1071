package gitdir

import (
	"bytes"
	"crypto/sha1" // git's checksum, not a matter of security
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/files/sharedfile"
)

// The format is that of gitformat-index(5), versions 2 to 4. go-git has a codec
// too, which loses the assume-valid flag and refuses indexes without checksum.

// Index is the content of an index file without its extensions, which are caches
// that git makes again.
type Index struct {
	version uint32
	Entries []IndexEntry // sorted by path, then stage; read-only

	merged    bool // see Merged
	collapsed bool // directories that are not checked out can be single entries: only in the file
	written   written
	tree      plumbing.Hash // that the entries were last equal to, as git recorded; zero if unknown
}

// written is when an index was written: the modification time of its file and the device of
// that, for the rule about racy entries.
type written struct{ sec, nsec, dev uint32 }

// IndexEntry is one line of an index.
type IndexEntry struct {
	Path     string
	Mode     filemode.FileMode
	Hash     plumbing.Hash
	Stat     Stat
	flags    uint16 // without the length of the name
	extended uint16 // second flags of version 3
}

const (
	flagAssumeValid = 1 << 15
	flagExtended    = 1 << 14
	flagStage       = 3 << 12
	nameLength      = 1<<12 - 1

	extendedSkipWorktree = 1 << 14
	extendedIntentToAdd  = 1 << 13

	entryFixed   = 62 // bytes of an entry before its name
	checksumSize = sha1.Size
	headerSize   = 12
)

// ErrDamagedIndex is the error of an index that has not the form or checksum of one.
var ErrDamagedIndex = errors.New("index file is corrupt")

// Stage returns 0, or which side of a merge conflict the entry is (1 to 3).
func (e *IndexEntry) Stage() uint16     { return e.flags & flagStage >> 12 }
func (e *IndexEntry) assumeValid() bool { return e.flags&flagAssumeValid != 0 }

// SkipWorktree reports whether the file is absent from the work tree on purpose.
func (e *IndexEntry) SkipWorktree() bool { return e.extended&extendedSkipWorktree != 0 }

// Merged reports that each entry is known to be the only one of its path, and not one of a conflict.
func (idx *Index) Merged() bool { return idx.merged }

// NewIndex returns a new index with entries, in any order.
func NewIndex(entries []IndexEntry) *Index {
	slices.SortFunc(entries, compareEntries)
	return &Index{version: 2, Entries: entries}
}

// readIndexFile reads an index with the file times needed to detect racy
// entries.
func readIndexFile(f *os.File) (*Index, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := readAll(f, info.Size())
	if err != nil {
		return nil, err
	}
	idx, err := parseIndex(data, func(hash plumbing.Hash) ([]byte, error) {
		return sharedfile.Read(filepath.Join(filepath.Dir(f.Name()), "sharedindex."+hash.String()))
	})
	if err != nil {
		return nil, err
	}
	st := StatOf(info)
	idx.written = written{st.mtimeSec, st.mtimeNsec, st.dev}
	return idx, nil
}

// readAll reads a file that has about a size.
func readAll(f *os.File, size int64) ([]byte, error) {
	const maxGrow = 64 << 20                                                        // for larger ones, only what is read counts
	data := bytes.NewBuffer(make([]byte, 0, int(min(size, maxGrow))+bytes.MinRead)) // unlike Grow, it does not zero new memory
	_, err := data.ReadFrom(f)
	return data.Bytes(), err
}

// parseIndex reads an index file's bytes, which must not be modified afterwards: the entries' names are
// in them. shared reads the shared index of a split one by its checksum.
func parseIndex(data []byte, shared func(plumbing.Hash) ([]byte, error)) (*Index, error) {
	if len(data) < headerSize+checksumSize || string(data[:4]) != "DIRC" {
		return nil, ErrDamagedIndex
	}
	body, sum := data[:len(data)-checksumSize], data[len(data)-checksumSize:]
	intact := make(chan bool, 1)
	go func() { // a third of the time, for a large index
		found := sha1.Sum(body)
		intact <- bytes.Equal(sum, found[:])
	}()
	idx, err := parseBody(body, shared)
	// A checksum of zeros is what index.skipHash leaves there.
	if !<-intact && !bytes.Equal(sum, make([]byte, checksumSize)) {
		return nil, ErrDamagedIndex
	}
	return idx, err
}

// parseBody reads an index without its checksum.
func parseBody(body []byte, shared func(plumbing.Hash) ([]byte, error)) (*Index, error) {
	idx := &Index{version: binary.BigEndian.Uint32(body[4:])}
	if idx.version < 2 || idx.version > 4 {
		return nil, &UnsupportedError{Reason: fmt.Sprintf("index version %d is not supported", idx.version)}
	}
	rest, err := idx.parseEntries(body[headerSize:], binary.BigEndian.Uint32(body[8:]))
	if err != nil {
		return nil, err
	}
	var x extensions
	if err := x.read(rest); err != nil {
		return nil, err
	}
	if x.split != nil {
		if err := idx.join(x.split, shared); err != nil {
			return nil, err
		}
	}
	idx.collapsed = x.collapsed
	idx.tree = treeOf(x.tree, len(idx.Entries))
	return idx, idx.order()
}

// order sorts the entries if need be, and sets merged.
func (idx *Index) order() error {
	sorted, previous := true, ""
	idx.merged = true
	for i := range idx.Entries {
		e := &idx.Entries[i]
		if e.Path == "" { // only split indexes have such entries, which got their names
			return ErrDamagedIndex
		}
		if e.Path <= previous || e.Stage() != 0 {
			idx.merged = false
			sorted = sorted && (i == 0 || idx.Entries[i-1].compare(e) <= 0)
		}
		previous = e.Path
	}
	if !sorted { // git does not write such
		slices.SortStableFunc(idx.Entries, compareEntries)
	}
	return nil
}

func (idx *Index) parseEntries(data []byte, count uint32) ([]byte, error) {
	if uint64(count)*entryFixed > uint64(len(data)) {
		return nil, ErrDamagedIndex
	}
	idx.Entries = make([]IndexEntry, count)
	previous := ""
	for i := range idx.Entries {
		n, err := idx.Entries[i].parse(data, idx.version, previous)
		if err != nil {
			return nil, err
		}
		data, previous = data[n:], idx.Entries[i].Path
	}
	return data, nil
}

// parse parses one entry and returns its length.
func (e *IndexEntry) parse(data []byte, version uint32, previous string) (int, error) {
	if len(data) < entryFixed+2 {
		return 0, ErrDamagedIndex
	}
	field := func(i int) uint32 { return binary.BigEndian.Uint32(data[4*i:]) }
	e.Stat = Stat{
		ctimeSec: field(0), ctimeNsec: field(1), mtimeSec: field(2), mtimeNsec: field(3), dev: field(4), ino: field(5),
		uid: field(7), gid: field(8), size: field(9),
	}
	e.Mode = filemode.FileMode(field(6))
	copy(e.Hash[:], data[40:])
	flags := binary.BigEndian.Uint16(data[60:])
	e.flags = flags &^ (nameLength | flagExtended)
	at := entryFixed
	if flags&flagExtended != 0 {
		e.extended = binary.BigEndian.Uint16(data[at:])
		at += 2
	}
	if version == 4 {
		return e.parseCompressedName(data, at, previous)
	}
	end := bytes.IndexByte(data[at:], 0)
	if end < 0 {
		return 0, ErrDamagedIndex
	}
	e.Path = unsafe.String(unsafe.SliceData(data[at:]), end) // a copy would be an allocation for each
	size := (at + end + 8) &^ 7                              // one to eight zeros follow the name
	if size > len(data) {
		return 0, ErrDamagedIndex
	}
	return size, nil
}

// parseCompressedName parses a prefix-compressed name: the number of bytes to
// remove from the end of the previous name, and a suffix.
func (e *IndexEntry) parseCompressedName(data []byte, at int, previous string) (int, error) {
	cut, n := parseOffset(data[at:])
	if n == 0 || cut > uint64(len(previous)) {
		return 0, ErrDamagedIndex
	}
	at += n
	end := bytes.IndexByte(data[at:], 0)
	if end < 0 {
		return 0, ErrDamagedIndex
	}
	e.Path = previous[:len(previous)-int(cut)] + string(data[at:at+end])
	return at + end + 1, nil
}

// parseOffset reads a number of seven bits a byte, in which each continuation
// adds one. It returns 0 bytes if the number does not end in time.
func parseOffset(data []byte) (value uint64, n int) {
	for n < len(data) && n < 8 {
		c := data[n]
		n++
		value |= uint64(c & 0x7f)
		if c&0x80 == 0 {
			return value, n
		}
		value = (value + 1) << 7
	}
	return 0, 0
}

func appendOffset(out []byte, value uint64) []byte {
	var digits [10]byte
	at := len(digits) - 1
	digits[at] = byte(value & 0x7f)
	for value >>= 7; value != 0; value >>= 7 {
		value--
		at--
		digits[at] = 0x80 | byte(value&0x7f)
	}
	return append(out, digits[at:]...)
}

// extensions are those of an index file that are used.
type extensions struct {
	tree, split []byte
	collapsed   bool
}

// read finds the extensions, and refuses unknown ones that change what the
// entries mean. Such have a name that starts with a lower-case letter.
func (x *extensions) read(data []byte) error {
	for len(data) > 0 {
		if len(data) < 8 {
			return ErrDamagedIndex
		}
		name, size := string(data[:4]), uint64(binary.BigEndian.Uint32(data[4:]))
		if size > uint64(len(data)-8) {
			return ErrDamagedIndex
		}
		switch content := data[8 : 8+size]; {
		case name == "TREE":
			x.tree = content
		case name == "link":
			x.split = content
		case name == "sdir":
			x.collapsed = true
		case name[0] < 'A' || name[0] > 'Z':
			return &UnsupportedError{Reason: fmt.Sprintf("index extension %q is not supported", name)}
		}
		data = data[8+size:]
	}
	return nil
}

// treeOf returns the tree of the root in git's cache of trees; zero if it is invalid, or of another
// number of entries.
func treeOf(data []byte, entries int) (tree plumbing.Hash) {
	line, rest, ok := bytes.Cut(data, []byte("\n"))
	count, _, _ := strings.Cut(string(line), " ")
	if ok && count == "\x00"+strconv.Itoa(entries) && len(rest) >= len(tree) {
		copy(tree[:], rest)
	}
	return tree
}

// Lists reports whether the index has exactly the files of a tree, as git recorded when it wrote
// the index.
func (idx *Index) Lists(tree plumbing.Hash) bool {
	if idx.tree != tree || tree.IsZero() {
		return false
	}
	for i := range idx.Entries {
		if e := &idx.Entries[i]; e.Stage() != 0 || e.extended&extendedIntentToAdd != 0 {
			return false
		}
	}
	return true
}

// Encode returns the bytes of an index file with these entries.
func (idx *Index) Encode() []byte {
	version := idx.version
	if version < 4 {
		version = 2
		for i := range idx.Entries {
			if idx.Entries[i].extended != 0 {
				version = 3
			}
		}
	}
	out := make([]byte, 0, headerSize+checksumSize+len(idx.Entries)*128)
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(idx.Entries)))
	previous := ""
	for i := range idx.Entries {
		out = idx.Entries[i].append(out, version, previous)
		previous = idx.Entries[i].Path
	}
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

func (e *IndexEntry) append(out []byte, version uint32, previous string) []byte {
	begin := len(out)
	for i, field := range e.Stat.fields() {
		if i == statBeforeMode {
			out = binary.BigEndian.AppendUint32(out, uint32(e.Mode))
		}
		out = binary.BigEndian.AppendUint32(out, *field)
	}
	out = append(out, e.Hash[:]...)
	flags := e.flags | uint16(min(len(e.Path), nameLength))
	if e.extended != 0 {
		flags |= flagExtended
	}
	out = binary.BigEndian.AppendUint16(out, flags)
	if e.extended != 0 {
		out = binary.BigEndian.AppendUint16(out, e.extended)
	}
	if version == 4 {
		same := commonPrefix(previous, e.Path)
		out = appendOffset(out, uint64(len(previous)-same))
		out = append(out, e.Path[same:]...)
		return append(out, 0)
	}
	out = append(out, e.Path...)
	zeros := 8 - (len(out)-begin)%8
	return append(out, make([]byte, zeros)...)
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// compareEntries compares entries in index order.
func compareEntries(a, b IndexEntry) int { return a.compare(&b) }

func (e *IndexEntry) compare(other *IndexEntry) int {
	if c := strings.Compare(e.Path, other.Path); c != 0 {
		return c
	}
	return int(e.Stage()) - int(other.Stage())
}

// racy reports whether the file of an entry may have been changed after the
// entry was written without its times showing it: when one of them is that of the
// index or later. Programs can set the time of the last modification to an earlier one.
func (idx *Index) racy(s *Stat) bool {
	return !idx.written.after(s.mtimeSec, s.mtimeNsec, s.dev) || !idx.written.after(s.ctimeSec, s.ctimeNsec, s.dev)
}

// after reports whether the index was written after a time on a device. Between two devices the
// clocks are only trusted to the second.
func (w written) after(sec, nsec, dev uint32) bool {
	if sec != w.sec {
		return sec < w.sec
	}
	return dev == w.dev && nsec < w.nsec
}

// Current reports whether the entry's file is unchanged, judged by its times,
// size and inode. It has no false positives.
func (idx *Index) Current(e *IndexEntry, now *Stat, trustCtime bool) bool {
	if e.Stage() != 0 || !e.Stat.same(now, trustCtime) || idx.racy(&e.Stat) {
		return false
	}
	// Git marks an entry that it does not trust by size zero.
	return e.Stat.size != 0 || e.Hash == emptyBlob
}

// Same reports whether the entry's file has the times, size and inode of the entry. It
// may still have been modified, shortly after the index was written.
func (e *IndexEntry) Same(now *Stat, trustCtime bool) bool { return e.Stat.same(now, trustCtime) }

// emptyBlob is the id of a file without content.
var emptyBlob = plumbing.ComputeHash(plumbing.BlobObject, nil)

// AssumedUnchanged reports whether the user told git not to check the file.
func (e *IndexEntry) AssumedUnchanged() bool { return e.assumeValid() || e.SkipWorktree() }
