// Package sandbox says how child processes are confined by the kernel. In this
// release it confines nothing: it knows the modes that a user can ask for and
// refuses, instead of pretending, what it can't give.
package sandbox
