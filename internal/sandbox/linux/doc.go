// Package linux has the system calls and constants of Linux that package child needs and that package syscall
// lacks, under the names of golang.org/x/sys/unix. That package imports others that are initialized late, so that
// a process of the sandbox would first initialize most of the program. It decides nothing: package child does.
package linux
