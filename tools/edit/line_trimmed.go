package edit

// lineTrimmed finds lines that are those of the piece but for white space at
// their beginnings and ends.
func lineTrimmed(text, old string) []span {
	t, o := newLines(text), newLines(old)
	return t.spans(number(t, o).windows(), o.count())
}
