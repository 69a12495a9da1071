// Package signing signs commits as git does: with keys of ssh, which may be in an agent,
// and of OpenPGP. The operator's environment selects the key.
package signing
