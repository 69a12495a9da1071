package remote

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mirrorState is the state of a mirror after the last update.
type mirrorState struct {
	depth    int
	combined int              // the least number of packs since they were last combined, or that was tried
	pruned   int64            // when unneeded objects were last searched for; 0 if unknown
	packs    map[string]int64 // sizes by name; none while they are combined
}

func readMirrorState(dir string) (mirrorState, error) {
	data, err := os.ReadFile(filepath.Join(dir, mirrorMark))
	if err != nil {
		return mirrorState{}, err
	}
	s := mirrorState{packs: map[string]int64{}}
	if _, err := fmt.Sscanf(string(data), "depth %d\n", &s.depth); err != nil {
		return s, fmt.Errorf("read %s: %w", mirrorMark, err)
	}
	for line := range strings.Lines(string(data)) {
		_, _ = fmt.Sscanf(line, "combined %d pruned %d\n", &s.combined, &s.pruned) // it is another line
		var name string
		var size int64
		if n, _ := fmt.Sscanf(line, "pack %d %s\n", &size, &name); n == 2 {
			s.packs[name] = size
		}
	}
	return s, nil
}

// checkPacks fails if a pack is missing or has another size. Without a list of packs, it reads them.
func (s mirrorState) checkPacks(dir string) error {
	if len(s.packs) == 0 {
		return readPacks(dir)
	}
	now, err := packSizes(dir)
	if err != nil {
		return err
	}
	for name, size := range s.packs {
		if now[name] != size {
			return &damageError{fmt.Errorf("pack %s has %d bytes, want %d", name, now[name], size)}
		}
	}
	return nil
}

// packSizes returns the sizes of packs and their indexes.
func packSizes(dir string) (map[string]int64, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "objects", "pack"))
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".idx") && !strings.HasSuffix(e.Name(), ".pack") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		sizes[e.Name()] = info.Size()
	}
	return sizes, nil
}

// readPacks fails if a pack or its index does not match its checksum. One without the other was being removed.
func readPacks(dir string) error {
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "pack-*.pack"))
	if err != nil {
		return err
	}
	for _, pack := range packs {
		idx := strings.TrimSuffix(pack, ".pack") + ".idx"
		if _, err := os.Lstat(idx); err == nil && (!packIsComplete(pack) || !indexIsComplete(idx)) {
			return &damageError{fmt.Errorf("%s: wrong checksum", pack)}
		}
	}
	return nil
}

// writeState records the state of a mirror that is complete.
func (m *mirroring) writeState(cut bool) error {
	depth := 0
	if cut {
		depth = max(m.depth, m.state.depth)
	}
	m.state.depth = depth
	if m.state.pruned == 0 && m.env.Now != nil {
		m.state.pruned = m.env.Now().Unix()
	}
	return m.recordPacks()
}

// recordPacks records the packs of a mirror as they are now.
func (m *mirroring) recordPacks() (err error) {
	if m.state.packs, err = packSizes(m.dir); err != nil {
		return err
	}
	m.state.combined = min(m.state.combined, len(m.state.packs)/2)
	return m.state.write(m.dir)
}

func (s mirrorState) write(dir string) error {
	text := fmt.Appendf(nil, "depth %d\ncombined %d pruned %d\n", s.depth, s.combined, s.pruned)
	for _, name := range slices.Sorted(maps.Keys(s.packs)) {
		text = fmt.Appendf(text, "pack %d %s\n", s.packs[name], name)
	}
	return replaceFile(filepath.Join(dir, mirrorMark), text)
}
