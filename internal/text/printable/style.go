package printable

// Style is the meaning of a text, by which a terminal colours it.
type Style string

// The styles.
const (
	Heading Style = "heading"
	Aside   Style = "aside"
	Good    Style = "good"
	Bad     Style = "bad"
)
