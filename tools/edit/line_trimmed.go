package edit

// lineTrimmed finds lines equal to those of old except for whitespace at
// their beginnings and ends.
func lineTrimmed(text, old string) []span {
	t, o := newLines(text), newLines(old)
	return t.spans(number(t, o).windows(), o.count())
}
