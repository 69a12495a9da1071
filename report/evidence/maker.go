package evidence

import (
	"strings"

	"github.com/millhand/millhand/internal/event/trailers"
)

// maker is what the trailers of a commit's message name as what made it.
type maker struct{ run, job, hash string }

// makerOf returns what the trailers of a message name.
func makerOf(message string) maker {
	t := trailers.Read(message)
	return maker{t[trailers.Run], t[trailers.Job], strings.TrimPrefix(t[trailers.Evidence], "sha256:")}
}

// evidence returns the hash of the trailers of a commit that a run has made; "" for others.
func (m maker) evidence(run string) string {
	if m.run != run {
		return ""
	}
	return m.hash
}
