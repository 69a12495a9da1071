// Package redact takes known secrets out of texts: keys and tokens that millhand
// holds, as they are and in the encodings in which they are passed on. It does
// not guess what may be a secret that it was not told of.
package redact
