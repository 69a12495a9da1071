package edit

// exact finds exact occurrences of the piece.
func exact(text, old string) []span { return occurrences(text, old) }
