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
	depth int
	packs map[string]int64 // sizes by name
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
		var name string
		var size int64
		if n, _ := fmt.Sscanf(line, "pack %d %s\n", &size, &name); n == 2 {
			s.packs[name] = size
		}
	}
	return s, nil
}

// checkPacks fails if a pack is missing or has another size.
func (s mirrorState) checkPacks(dir string) error {
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

func (m *mirroring) writeState(cut bool) error {
	depth := 0
	if cut {
		depth = max(m.depth, m.state.depth)
	}
	packs, err := packSizes(m.dir)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "depth %d\n", depth)
	for _, name := range slices.Sorted(maps.Keys(packs)) {
		text = fmt.Appendf(text, "pack %d %s\n", packs[name], name)
	}
	return replaceFile(filepath.Join(m.dir, mirrorMark), text)
}
