// Package suggest derives the least profile that allows the tool calls of saved runs. It is pure: it reads no runs
// and analyses no calls. The caller determines what the calls need.
package suggest
