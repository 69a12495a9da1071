//go:build linux

// Bench measures the built millhand as a whole process against the floor: a
// bare loop without a harness, which is this same program run as a child. Both
// play the same written conversations on the same generated repository, with
// the same server on loopback in the place of a model that answers at once, in
// turn and in one run, so that what the machine does besides meets both alike.
//
// The floor asks for no permission, checks no arguments, tells no events, keeps
// no patch and writes no report. It is what the work itself costs.
//
// Every run is checked: all turns were asked for and none beside, and the tree
// that is left is the floor's. Beyond that nothing passes or fails; the
// program prints a table. It needs Linux (it reads /proc), git and Go; see
// docs/figures.md.
package main
