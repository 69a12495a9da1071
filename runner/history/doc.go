// Package history is what earlier processes did of a run: facts, folded from its events.
//
// It reads no files and knows neither repositories nor the phases of a job: it returns values,
// and package runner acts on them.
package history
