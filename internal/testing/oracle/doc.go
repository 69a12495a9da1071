// Package oracle decides tool calls as OpenCode does with its configuration, for tests
// that compare what package opencode makes of it. Only tests import it.
//
// It was written from OpenCode's behaviour and documentation, and shares no code with the
// conversion or with millhand's decision: a mistake of one is not repeated by the other.
// "ask" is deny, because nobody can be asked in a batch run.
package oracle
