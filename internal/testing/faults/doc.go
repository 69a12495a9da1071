// Package faults tests what a run leaves behind when its environment fails:
// the process is killed or interrupted, the disk is full, the provider sends invalid responses,
// or somebody works on the repository at the same time. Its tests start the real
// program on real repositories, at random moments, and compare its reports with what
// is there.
package faults
