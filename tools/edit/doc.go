// Package edit is the pure core of the edit tool: it replaces a substring of a
// text, which it locates with an ordered list of matchers, the strictest first.
// Where a match is not exact, it applies the difference with package merge.
// It does not access files.
//
// Models copy imperfectly: they change white space, escape what needs no
// escape, misremember a line in the middle. A looser matcher is asked only
// where the ones before it found nothing, or nothing that is the only one. All
// matchers are bounded: what would take longer than some seconds is not found.
package edit
