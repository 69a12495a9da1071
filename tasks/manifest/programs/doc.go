// Package programs reads the programs of a manifest: command lines, and names of environment variables. It starts no
// program and reads no variable, and does not know which keys have them.
package programs
