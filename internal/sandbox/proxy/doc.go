// Package proxy is the network access of a sandbox: an HTTP proxy that accepts CONNECT,
// for any protocol over TLS, and plain HTTP. It resolves the host name, checks whether
// the name and the address to dial are allowed, dials exactly that address, and records
// every attempt.
//
// It does not decrypt TLS. A client can send any data to a permitted host, and a host
// that serves several names, as those of CDNs do, can be asked for another name.
package proxy
