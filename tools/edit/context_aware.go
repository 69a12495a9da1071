package edit

// contextAware finds blocks with as many lines as old, three or more,
// whose first and last lines are those of old except for whitespace
// around them, and of whose lines between at least half are. Pairs of blank
// lines don't count.
func contextAware(text, old string) []span {
	t, o := newLines(text), newLines(old)
	n := o.count()
	if n < 3 || blank(o.at(0)) || blank(o.at(n-1)) {
		return nil
	}
	ids := number(t, o)
	left := maxWork
	var spans []span
	for i := 0; i+n <= len(ids.text); i++ {
		if left--; ids.text[i] != ids.id[0] || ids.text[i+n-1] != ids.id[n-1] {
			continue
		}
		if left -= n; left < 0 {
			return nil
		}
		same, pairs := 0, 0
		for j := 1; j < n-1; j++ {
			a, b := ids.text[i+j], ids.id[j]
			if a == ids.blank && b == ids.blank {
				continue
			}
			pairs++
			if a == b {
				same++
			}
		}
		if 2*same >= pairs {
			spans = append(spans, t.span(i, n))
		}
	}
	return spans
}
