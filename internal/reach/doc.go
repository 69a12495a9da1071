// Package reach says whom a profile's network allows to be reached: which
// addresses are public, which hosts a list names, and what hosts the groups of
// package managers are. The web tools and the way out of sandboxes both ask it,
// so that what holds for one holds for the other.
//
// It is asked twice for each connection: for the name, before that is looked up,
// and for the address that is about to be dialled, so that no name can lead to
// somewhere else than its rule is for. It looks up and connects to nothing
// itself.
package reach
