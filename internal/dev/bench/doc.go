//go:build linux

// Bench measures the millhand binary against the floor: a minimal agent loop, which is
// this same program run as a child process. Both replay the same scripted conversations
// on the same generated repository, with the same server on loopback instead of a model.
// They run alternately, so that other load of the machine affects both equally.
//
// The floor checks no permissions and no arguments, emits no events, saves no patch and
// writes no report. It is the cost of the work itself.
//
// Every run is checked: exactly all turns were requested, and the resulting tree is that
// of the floor. Nothing else passes or fails; the program prints a table. It requires
// Linux (it reads /proc), git and Go; see docs/figures.md.
package main
