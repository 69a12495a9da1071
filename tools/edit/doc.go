// Package edit is the pure core of the edit tool: it replaces one piece of a
// text by another, finding the piece by an ordered list of matchers. It reads
// and writes no files.
package edit
