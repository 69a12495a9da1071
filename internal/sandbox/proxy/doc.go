// Package proxy is the way out of a sandbox that has one: an HTTP proxy that
// takes CONNECT for any protocol over TLS, and plain HTTP. It looks the name up
// itself, asks whether it and the address that it is about to dial are allowed,
// dials exactly that address, and reports every attempt.
//
// It doesn't look into what is encrypted. Whoever may reach a host may send it
// anything, and a host that stands for many, as those of large networks do, can
// be asked for another of them.
package proxy
