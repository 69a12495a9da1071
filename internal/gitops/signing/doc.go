// Package signing makes and verifies signatures: of commits, as git does, with keys of ssh, which may be in an
// agent, and of OpenPGP; and of evidence, in DSSE envelopes. The operator's environment selects the key. It
// neither makes commits nor decides which signers are trusted.
package signing
