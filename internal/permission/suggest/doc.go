// Package suggest derives the least profile that allows the tool calls of saved runs. It is
// pure: the caller reads the runs and determines what their calls need.
package suggest
