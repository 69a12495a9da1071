// Package redact removes secrets from texts: keys and tokens that millhand holds, also encoded or in part, and
// strings in the format of a well-known service's keys. It reads neither the environment nor files: its callers
// pass the secrets.
//
// A known secret is found by its windows: any 12 consecutive bytes of it or of
// one of its encodings. So a substring of 12 bytes or more is found, too. The
// drawback is that 12 bytes which a secret shares with harmless text are
// redacted there. Therefore windows with fewer than four different bytes are
// not used, secrets shorter than 12 bytes are found only in full, and those
// shorter than 8 bytes are not searched.
package redact
