package edit

// exact finds the piece as it is.
func exact(text, old string) []span { return occurrences(text, old) }
