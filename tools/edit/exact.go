package edit

// exact finds exact occurrences of old.
func exact(text, old string) []span { return occurrences(text, old) }
