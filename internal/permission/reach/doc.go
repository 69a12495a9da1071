// Package reach decides which hosts a profile's network allows: which addresses
// are public, which hosts a list names, and which hosts belong to the groups of
// package managers. The web tools and the sandbox proxy both use it, so that
// the same rules apply to both.
//
// It is called twice for each connection: for the name before it is resolved,
// and for the address to dial, so that a name can't resolve to an address that
// its rule does not cover. It does not resolve names or connect itself.
package reach
