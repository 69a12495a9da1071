package form

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/tasks/problem"
)

// box is a mapping with a table of keys.
type box struct {
	name  string
	size  int
	wait  time.Duration
	tags  []string
	inner *box
}

func (b *box) keys() Table {
	return Table{
		{Name: "name", Field: Required("name: NAME", Into(&b.name, String)), Doc: "Name"},
		{Name: "size", Field: Into(&b.size, Between(1, 9)), Def: "3", Doc: "Size"},
		{Name: "wait", Field: Into(&b.wait, Duration), Doc: "Wait"},
		{Name: "tags", Field: Into(&b.tags, UpTo(2, ListOf(Enum("red", "blue")))), Doc: "Tags"},
		{Name: "inner", Field: Into(&b.inner, Optional(Mapping((*box).keys))), Doc: "Another one"},
	}
}

func (b *box) flatKeys() Table { return b.keys()[:4] }

// read reads a file, and returns what is wrong with it.
func read(text string) (box, []string) {
	found := problem.NewCollector()
	src := &Source{File: problem.File{Name: "box.yaml", Found: found}}
	b := WithDefaults((*box).flatKeys)
	if v, ok := src.Parse([]byte(text)); ok {
		b.keys().Read(v)
	}
	if err := found.Err(); err != nil {
		return b, strings.Split(err.Error(), "\n")
	}
	return b, nil
}

func TestATableReadsItsKeysAndTheirDefaults(t *testing.T) {
	b, problems := read("name: a\nwait: 90s\ntags: [blue, red]\ninner: {<<: {size: 9}, name: b}\n")
	if len(problems) > 0 || b.name != "a" || b.size != 3 || b.wait != 90*time.Second || strings.Join(b.tags, " ") != "blue red" || b.inner.size != 9 || b.inner.name != "b" {
		t.Errorf("%+v, %q", b, problems)
	}
}

func TestEveryMistakeOfAFileIsRecordedWithItsPosition(t *testing.T) {
	_, got := read("siz: 10\nwait: 5\ntags: [red, blue, red]\ninner:\n  tags: [green]\n  size: '4'\n")
	want := []string{
		`box.yaml:1:1: unknown key "siz"; did you mean "size"?`,
		`box.yaml:1:1: missing key "name" in the file; add name: NAME`,
		`box.yaml:1:6: "siz" must be an integer from 1 to 9, not the number 10; write 9 or less`,
		`box.yaml:2:7: "wait" must be a duration, not the number 5; write it with its unit, such as 90s, 20m or 1h30m`,
		`box.yaml:3:7: "tags" has more than 2 entries; make it shorter`,
		`box.yaml:4:1: missing key "name" in "inner"; add name: NAME`,
		`box.yaml:5:10: entry 1 of "tags" must be one of red, blue, not "green"; write one of them`,
		`box.yaml:6:9: "size" must be an integer from 1 to 9, not the string "4"; write 4 without quotes`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
}

func TestATableIsAlsoTheSchemaAndTheListOfItsKeys(t *testing.T) {
	data, err := json.Marshal(new(box).flatKeys().schema())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"additionalProperties":false,"properties":{"name":{"description":"Name","type":"string"},"size":{"default":3,"description":"Size","maximum":9,"minimum":1,"type":"integer"},`
	if !strings.HasPrefix(string(data), want) || !strings.HasSuffix(string(data), `"required":["name"],"type":"object"}`) {
		t.Errorf("schema %s", data)
	}
	all := new(box).flatKeys().Below("boxes.")
	if len(all) != 4 || all[1].Path != "boxes.size" || all[1].Default != "3" || !all[0].Required || all[3].Type.Elem.Name != "enum" {
		t.Errorf("keys %+v", all)
	}
}

func TestAValueIsReadAsJSON(t *testing.T) {
	src := &Source{File: problem.File{Name: "v.yaml", Found: problem.NewCollector()}}
	v, ok := src.Parse([]byte("{a: [1, 2.5, true, null, 2026-01-02], b: {}, c: '5', d: &x [e], f: *x}"))
	if !ok {
		t.Fatal(src.Found.Err())
	}
	doc, ok := v.JSON()
	data, err := json.Marshal(doc)
	if !ok || err != nil || string(data) != `{"a":[1,2.5,true,null,"2026-01-02"],"b":{},"c":"5","d":["e"],"f":["e"]}` {
		t.Errorf("%s, %t, %v", data, ok, err)
	}
}

// FuzzTable looks for files that crash the reader, and for problems outside of their file.
func FuzzTable(f *testing.F) {
	for _, s := range []string{"name: a", "a: &a [*a]", "<<: {size: 1}", "? x\n: y", "inner: {inner: {tags: [x}}", "\ufeffsize: 1", "size: |\n  3", "%TAG ! x\n---\na", "a:\n\tb"} {
		f.Add([]byte(s))
	}
	breaks := regexp.MustCompile(`\r\n|[\n\r\x{85}\x{2028}\x{2029}]`)
	f.Fuzz(func(t *testing.T, data []byte) {
		found := problem.NewCollector()
		src := &Source{File: problem.File{Name: "box.yaml", Found: found}}
		v, ok := src.Parse(data)
		if ok {
			new(box).keys().Read(v)
			v.JSON()
		} else if len(found.List) == 0 {
			t.Fatal("a file that can't be read has no problem")
		}
		rows := len(breaks.Split(string(data), -1))
		for _, p := range found.List {
			if p.Line < 0 || p.Line > rows || p.What == "" || strings.ContainsAny(p.String(), "\r\n") {
				t.Fatalf("problem %q", p)
			}
		}
	})
}
