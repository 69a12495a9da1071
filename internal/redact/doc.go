// Package redact takes secrets out of texts: keys and tokens that millhand
// holds, in the encodings in which they are passed on and in parts, and what
// has the form of a key of a well-known service.
//
// A secret that is held is found by its windows: any 12 bytes in a row of it, or
// of one of its encodings. So a part of it is found, too, unless it is shorter.
// The price is that 12 bytes which a secret has in common with harmless texts
// are taken out of these. Windows of fewer than four different bytes are left
// out for that reason, secrets of less than 12 bytes are found as a whole only,
// and those of less than 8 not at all.
package redact
