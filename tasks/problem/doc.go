// Package problem has the mistakes that are found in manifests and other files of a user: where
// they are, what is wrong and how to fix it, at most a thousand of them, each once and in order,
// and the suggestions for names that are unknown. It does not read files.
package problem
