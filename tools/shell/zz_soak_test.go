package shell

import ("testing";"time";"fmt";"math/rand/v2";"strings";"os";"strconv";"regexp")

var absRE = regexp.MustCompile(`(^|[^\w.])/`)

func TestSoak(t *testing.T) {
	b := newBench(t, stubNames())
	known, errs := 0, 0
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	end := time.Now().Add(540*time.Second)
	n := from
	for ; time.Now().Before(end); n++ {
		g := newGenerator(uint64(n))
		line := g.line()
		r := rand.New(rand.NewPCG(uint64(n), 99))
		if len(line) > 300 { continue }
		bs := []byte(line)
		for range 1+r.IntN(3) {
			i := r.IntN(len(bs))
			frag := []string{"'", "\"", "\\", "`", "$", "(", ")", "{", "}", "#", " ", "\n", ";", "&", "|", "<", ">", "!", "=", "[", "]", "$(alfa)", "\\\n", " # \\\n", "$'", "\"$(bravo)\"", "${V:-", "<<E\n", "\nE\n", "coproc ", "time ", "! ", "[[ ", " ]]", "((", "))", "{a,b}", "V=1 ", "eval ", "alfa", "&>", "<(", ">&", "~", "*", "-- ", "if ", "then ", "fi ", "do ", "done ", "case ", "esac ", "function ", "alfa() ", ",", "$((", "$[", "]", "?(", "@(", "!("}[r.IntN(62)]
			switch r.IntN(3) {
			case 0: bs = append(bs[:i:i], bs[i+1:]...)
			default: bs = append(bs[:i:i], append([]byte(frag), bs[i:]...)...)
			}
			if len(bs) == 0 { bs = []byte("a") }
		}
		line = string(bs)
		if absRE.MatchString(line) || strings.Contains(line, "-i") || strings.Contains(line, "PATH") { continue }
		a, err := Analyze(line)
		if err != nil { errs++; continue }
		_ = a
		if b.check(t, line, false) { known++ }
		if t.Failed() { fmt.Printf("%q\n", line); t.Fatalf("seed %d", n) }
	}
	fmt.Println("lines", n-from, "known", known, "errs", errs)
}
