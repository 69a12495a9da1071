// Package terminal reduces the output of programs to the text that a terminal would show: progress lines to their
// last state, without colors, titles and moves of the cursor. It displays nothing, and makes no text safe: package
// printable does.
package terminal
