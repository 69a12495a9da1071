// Package edit is the pure core of the edit tool: it replaces one piece of a
// text by another, finding the piece by an ordered list of matchers, the
// strictest first. It reads and writes no files.
//
// Models copy imperfectly: they change white space, escape what needs no escape,
// misremember a line in the middle. A looser matcher is asked only where the ones
// before it found nothing, or nothing that is the only one. All matchers are
// bounded: what would take longer than some seconds is not found.
package edit
