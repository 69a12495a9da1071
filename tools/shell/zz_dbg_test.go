package shell
import ("testing";"fmt")
func TestDbg(t *testing.T) {
	for _, l := range []string{
		"fun1; function fun1 { return\n b > file1\n}; a > x",
		"cd d2\nfun1; function fun1 { return\n b > file1\n} || p | xargs a && p | xargs bash -c '(function fun2 { b > file2\n}; fun2)'",
		"cd d2\np | xargs bash -c '(function fun2 { b > file2\n}; fun2)'",
		"cd d2\nfunction fun2 { b > file2\n}; fun2",
		"cd d2\nbash -c 'function fun2 { b > file2\n}; fun2'",
		"cd d2\nbash -c '(b > file2)'",
	} {
		fmt.Println("$", l); fmt.Println(outline(Analyze(l)))
	}
}
