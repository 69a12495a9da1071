package words

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var recordFewer = flag.Bool("record", false, "record that there are fewer banned and discouraged words")

func TestFind(t *testing.T) {
	list := []string{"folder", "side by side", "is none"}
	for _, tt := range []struct {
		name, text, want string
	}{
		{"a.md", "A Folder.\nTwo lie side\nby side.", "[{1 folder} {2 side by side}]"},
		{"a.md", "What it is. None is left; folders", "[]"},
		{"a.go", "package a\n\n// They are side by\n// side here.\nvar homeFolder, FOLDERName, isNone = \"the folder\", `x`, 1\n", "[{3 side by side} {5 folder} {5 folder} {5 is none} {5 folder}]"},
		{"a.go", "package a\n\nvar side = 1 // side\n\n// by side\n", "[]"},
	} {
		if got := fmt.Sprint(Find(tt.name, tt.text, list)); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestBannedAndDiscouragedWordsOnlyDecrease fails if there are more banned words than recorded.txt
// says, or more discouraged ones than count.txt. Old texts still hold banned words;
// when none is left, so is recorded.txt.
func TestBannedAndDiscouragedWordsOnlyDecrease(t *testing.T) {
	banned, discouraged := lines(t, "banned.txt"), lines(t, "discouraged.txt")
	found, total, poor := map[string][]Hit{}, 0, 0
	for name, text := range tree(t) {
		for _, hit := range Find(name, text, slices.Concat(banned, discouraged)) {
			if slices.Contains(discouraged, hit.Phrase) {
				poor++
				continue
			}
			found[name] = append(found[name], hit)
			total++
		}
	}
	recorded, most := record(t, "recorded.txt")
	_, mostPoor := record(t, "count.txt")
	t.Logf("%d banned words in %d files (%d recorded), %d discouraged words (%d recorded)", total, len(found), most, poor, mostPoor)
	if total > most {
		t.Errorf("%d banned words, and recorded.txt has %d", total, most)
		reportMore(t, found, recorded)
	}
	if poor > mostPoor {
		t.Errorf("%d discouraged words, and count.txt has %d: use the terms of the field (see discouraged.txt)", poor, mostPoor)
	}
	if !*recordFewer || t.Failed() {
		return
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "%d %s\n", len(found[name]), name)
	}
	write(t, "recorded.txt", b.String())
	write(t, "count.txt", fmt.Sprintf("%d all\n", poor))
}

// reportMore reports the banned words of files that have more than recorded.
func reportMore(t *testing.T, found map[string][]Hit, recorded map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(found[name]) <= recorded[name] {
			continue
		}
		for _, hit := range found[name] {
			t.Errorf("%s:%d: %s", name, hit.Line, hit.Phrase)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree returns the texts that people read, by path, without what is allowed.
func tree(t *testing.T) map[string]string {
	t.Helper()
	const root = "../../../.."
	var drop []string
	for _, line := range lines(t, "allowed.txt") {
		text, reason, _ := strings.Cut(line, "\t")
		if reason == "" {
			t.Errorf("allowed.txt: %q has no reason", text)
		}
		drop = append(drop, text, "")
	}
	allowed, all := strings.NewReplacer(drop...), map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err = filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && name != "." && name != ".ci" && name != ".github" || name == "internal/dev/house/words" {
				return filepath.SkipDir
			}
			return nil
		}
		if !isText(name) {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		all[name] = allowed.Replace(string(text))
		return err
	})
	if err != nil || len(all) < 500 {
		t.Fatalf("read the tree: %d files, %v", len(all), err)
	}
	return all
}

// isText reports whether people read a file. Other files of testdata are golden
// files, which follow from the code, and input that others wrote.
func isText(name string) bool {
	ext := filepath.Ext(name)
	if strings.Contains(name, "testdata/") {
		return ext == ".txtar"
	}
	return slices.Contains([]string{".go", ".md", ".yml", ".yaml", ".sh", ".txtar"}, ext) ||
		name == "Makefile" || strings.HasPrefix(name, ".ci/") || strings.HasPrefix(name, ".github/")
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// record reads lines of a number and a name, and returns the sum, too.
func record(t *testing.T, file string) (byName map[string]int, total int) {
	t.Helper()
	byName = map[string]int{}
	for _, line := range lines(t, file) {
		var n int
		var name string
		if _, err := fmt.Sscan(line, &n, &name); err != nil {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
		byName[name] = n
		total += n
	}
	return byName, total
}
