package evidence

import (
	"strings"

	"github.com/millhand/millhand/internal/event/trailers"
)

// Maker is what the trailers of a commit's message name as what made it.
type Maker struct{ Run, Job, Hash string }

// MakerOf returns what the trailers of a message name.
func MakerOf(message string) Maker {
	t := trailers.Read(message)
	return Maker{t[trailers.Run], t[trailers.Job], strings.TrimPrefix(t[trailers.Evidence], "sha256:")}
}

// evidence returns the hash of the trailers of a commit that a run has made; "" for others.
func (m Maker) evidence(run string) string {
	if m.Run != run {
		return ""
	}
	return m.Hash
}
