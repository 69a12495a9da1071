package shell

import ("testing";"time";"fmt")

func TestSoak(t *testing.T) {
	b := newBench(t, stubNames())
	known := 0
	for n := 10000; n < 12500; n++ {
		g := newGenerator(uint64(n))
		line := g.line()
		st := time.Now()
		if b.check(t, line, g.exact) { known++ }
		if d := time.Since(st); d > time.Second { fmt.Println(n, d) }
		if t.Failed() { t.Fatalf("seed %d", n) }
	}
	fmt.Println("known", known)
}
