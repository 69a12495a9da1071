//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// The subset of the format of internal/model/script that is written here; JSON is valid
// YAML.
type (
	turn struct {
		Text  string         `json:"text"`
		Calls []call         `json:"calls,omitempty"`
		Usage map[string]int `json:"usage"`
	}
	call struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"args"`
	}
)

// allTools is the tools of ten turns: glob, search, read, edit, bash. Twice that
// is 8 reads, 4 greps, 2 globs, 4 edits and 2 commands.
const allTools = "gsrrersreb"

// conversation returns a script of turns of one call each, according to the letters of
// block, and a final turn that reports completion. Files are read in a random order that
// is always the same; an edit changes the file read last.
func conversation(paths []string, turns int, block string) ([]byte, error) {
	random := rand.New(rand.NewPCG(2, uint64(turns)))
	order := random.Perm(len(paths))
	read := -1
	var list []turn
	for i := range turns {
		kind := block[i%len(block)]
		if kind == 'r' {
			read++
		}
		path := paths[order[max(read, 0)%len(order)]]
		list = append(list, turn{
			Text:  "I'll look at the next place.",
			Calls: []call{oneCall(kind, path, i)},
			Usage: usageOf(i),
		})
	}
	list = append(list, turn{Text: "All revisions are counted up.", Usage: usageOf(turns)})
	data, err := json.Marshal(map[string]any{"version": 1, "turns": list})
	if err != nil {
		return nil, fmt.Errorf("write the script: %w", err)
	}
	return data, nil
}

func usageOf(i int) map[string]int {
	return map[string]int{"input": 3000 + 700*i, "cache_read": 2500 + 700*i, "output": 60}
}

func oneCall(kind byte, path string, i int) call {
	name := names[i*7%len(names)]
	switch kind {
	case 'g':
		return call{"glob", map[string]any{"pattern": fmt.Sprintf("**/%s*%d.go", name, i%10)}}
	case 's':
		return call{"grep", map[string]any{"pattern": fmt.Sprintf(`func %s%02d\d\(`, name, i*31%100)}}
	case 'r':
		return call{"read", map[string]any{"filePath": path}}
	case 'e':
		return call{"edit", map[string]any{"filePath": path, "oldString": revision(path, 1), "newString": revision(path, 2)}}
	}
	return call{"bash", map[string]any{"command": []string{"git status --short | head -20", "ls src | head"}[i/len(allTools)%2]}}
}
