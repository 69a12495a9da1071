// Package unidiff reads the unified diffs that git and forges write: the heads of files, and which lines of a file's new
// version the hunks show. It compares no texts, and applies no diff.
package unidiff
