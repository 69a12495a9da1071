package child

// indexByte and cut are those of package strings, which is initialized after many others.
func indexByte(s string, b byte) int {
	for i := range len(s) {
		if s[i] == b {
			return i
		}
	}
	return -1
}

func cut(s string, separator byte) (before, after string, found bool) {
	if i := indexByte(s, separator); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
