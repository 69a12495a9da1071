// Package textcall finds tool calls that a model wrote as text: the markup of its training, which its server
// did not parse. It is pure. A message about such markup is prose, so that only a call at the end of a message
// counts, outside of code.
package textcall
