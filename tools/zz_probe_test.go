package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	s := setUp(t, "build", map[string]string{"a.txt": "one\ntwo\n", "sub/b.txt": "b", ".env": "K=1", ".git/config": "[core]", "crlf": "a\r\nb\r\n"})
	s.link(s.outside, "out")
	s.link(".git", "g")
	show := func(tool, in string) {
		o := s.raw(tool, in)
		fmt.Printf("--- %s %.100s\n[%s] %.600s\n   title=%.80q meta=%v\n", tool, in, o.Status, o.Text(), o.Title, o.Metadata)
	}
	for _, in := range []string{``, `null`, `{}`, `{"filePath": 3}`, `{"file": "x"}`, `{"filePath":"a.txt","offset":"2"}`, `{"filePath":"a.txt","offset":2.0}`, `{"filePath":"a.txt","offset":2.5}`,
		`{"filePath":"a.txt","offset":null}`, `{"filePath":null}`, `{"filePath":"a.t`, `[1]`, `"x"`, `{"filePath":"a.txt"}{"filePath":"b"}`, `{"filePath":"a.txt"}}{"x":1}`, "{\"filePath\":\"a\xff\"}",
		`{"filePath":"a.txt","offset":1e9999999999}`, `{"filePath":"a.txt","offset":1e30}`, `{"filePath":"a.txt","offset":1e999999}`, `{"filePath":"a.txt","offset":"0x10"}`, `{"filePath":"a.txt","offset":9223372036854775807}`,
		`{"filePath":"a\u0000b"}`, `{"filePath":"a.txt/x"}`, `{"filePath":"A"}`, `{"filePath":"sub"}`, `{"filePath":"` + strings.Repeat("x", 5000) + `"}`, `{"filePath":"/proc/self/environ"}`, `{"filePath":"~/x"}`} {
		show("read", in)
	}
	show("bash", `{"command":"cat ~/x ~root/y"}`)
	show("bash", `{"command":"cat ~root/y"}`)
	show("bash", `{"command":"cd ~ && cat y"}`)
	show("bash", `{"command":"cd ~root && cat y"}`)
	show("bash", `{"command":"cat ~+/a.txt"}`)
	s.env.ChildEnv = []string{"PATH=" + os.Getenv("PATH")}
	show("bash", `{"command":"cat ~/x"}`)
	show("bash", `{"command":"cd; ls"}`)
	show("bash", `{"command":"pwd", "workdir":"nope"}`)
	show("bash", `{"command":"pwd", "workdir":"a.txt"}`)
	show("bash", `{"command":"pwd", "workdir":"/"}`)
	show("bash", `{"command":"if"}`)
	show("bash", `{"command":"pwd", "timeout":10000000000000}`)
	show("bash", `{"command":"pwd", "timeout":-1}`)
	show("bash", `{"command":"echo x > .git/config"}`)
	show("bash", `{"command":"echo x > /dev/null"}`)
	show("bash", `{"command":"printf 'a\\377b'"}`)
	show("edit", `{"filePath":"a.txt/x","oldString":"","newString":"x"}`)
	show("edit", `{"filePath":"crlf","oldString":"a\nb","newString":"a\r\nb"}`)
	show("write", `{"filePath":"a.txt/x","content":"x"}`)
	show("write", `{"filePath":"sub","content":"x"}`)
	show("write", `{"filePath":"","content":"x"}`)
	show("write", `{"filePath":"g/config","content":"x"}`)
	show("list", `{"path":"a.txt"}`)
	show("list", `{}`)
	show("glob", `{"pattern":"[","path":"."}`)
	show("glob", `{"pattern":"*","path":"a.txt"}`)
	show("glob", `{"pattern":"*","path":"nope"}`)
	show("grep", `{"pattern":"("}`)
	show("grep", `{"pattern":"two", "path":"a.txt"}`)
	show("question", `{}`)
	show("readd", `{}`)
	show("READ", `{"filePath":"a.txt"}`)
	show("todowrite", `{"todos":[{"content":"x","status":"bad"}]}`)
	show("todowrite", `{"todos":[{"content":"x"}]}`)
	show("todowrite", `{"todos":null}`)
	s.allow("external_directory", s.outside+"/*")
	show("glob", `{"pattern":"*","path":"out"}`)
	show("grep", `{"pattern":"s","path":"out"}`)
	show("grep", `{"pattern":"s","path":"out/secret"}`)
	show("list", `{"path":"out"}`)
	show("bash", `{"command":"seq 1 100000"}`)
	entries, _ := filepath.Glob(s.env.Outputs + "/*")
	fmt.Println(entries)
	for _, sp := range BuiltIn().Offer(s.env.Profile) {
		fmt.Println(sp.Name, sp.Schema)
	}
}
