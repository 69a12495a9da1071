package jshost

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
)

// PackageEntry returns the file of a package that is its plugin, relative to its directory, by its
// package.json: exports["./server"], exports["."], main, or index.js.
func PackageEntry(manifest []byte) (string, error) {
	var p struct {
		Exports any    `json:"exports"`
		Main    string `json:"main"`
	}
	if err := json.Unmarshal(manifest, &p); err != nil {
		return "", fmt.Errorf("read package.json: %w", err)
	}
	candidates := []string{p.Main, "index.js"}
	if subpaths, ok := p.Exports.(map[string]any); ok {
		candidates = slices.Concat([]string{target(subpaths["./server"]), target(subpaths["."]), target(subpaths)}, candidates)
	} else {
		candidates = append([]string{target(p.Exports)}, candidates...)
	}
	for _, c := range candidates {
		if c != "" {
			return path.Clean(c), nil
		}
	}
	return "", nil // index.js is the last candidate
}

// target returns the file of an entry of exports, given by the conditions that hold for plugins.
func target(entry any) string {
	switch e := entry.(type) {
	case string:
		return e
	case map[string]any:
		for _, condition := range []string{"import", "node", "bun", "default"} {
			if file := target(e[condition]); file != "" {
				return file
			}
		}
	}
	return ""
}
