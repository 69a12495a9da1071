package shell
import ("testing";"fmt";"strings";"os";"mvdan.cc/sh/v3/syntax")
func TestDbg(t *testing.T) {
	for _, l := range []string{
		"function f { return; } || p && q",
		"f() { return; } | p",
	} {
		f, _ := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(l), "")
		fmt.Printf("%T\n", f.Stmts[0].Cmd)
		_ = os.Stdout
	}
	for _, l := range []string{
		"cd d2\nf; f() { return; } || b && a > file1",
		"cd d2\nf; f() { return; } && a > file1",
		"cd d2\nf; a > file1",
		"cd d2\nf; f() { return; }; a > file1",
		"cd d2\nf; f() { return; } || b; a > file1",
	} {
		fmt.Println("$", l); fmt.Println(outline(Analyze(l)))
	}
}
