// Package effect describes what a command does with its arguments, as far as that follows from them: whoever knows where
// it runs makes accesses and further commands of it. It knows no program.
package effect

import "github.com/millhand/millhand/tools/shell/word"

// Reason is why something is unknown.
type Reason string

// The reasons. ReasonPath alone is about which file is meant, ReasonNetwork
// about a connection; all the others are about what would run.
const (
	ReasonPath        Reason = "path"                                      // the name of a file or directory
	ReasonCommand     Reason = "command word"                              // the program, or a subcommand that decides what it does
	ReasonScript      Reason = "script"                                    // text that a shell or a program with its own language would run
	ReasonInput       Reason = "shell fed from data"                       // a shell that reads its commands from a pipe or a file
	ReasonFile        Reason = "runs a file"                               // commands in a file that is read, or written, by the line itself
	ReasonOption      Reason = "option that runs a program"                // or one that the analysis doesn't know, of a program that runs another
	ReasonEnvironment Reason = "variable that decides what a command runs" // PATH, LD_PRELOAD, GIT_PAGER and the like
	ReasonAlias       Reason = "alias"                                     // of the shell or of git
	ReasonSetting     Reason = "setting that decides what a command runs"  // of the shell or of git
	ReasonArithmetic  Reason = "arithmetic on text that holds a command"   // a[$(x)] in quotes
	ReasonNetwork     Reason = "network redirection"                       // /dev/tcp and /dev/udp
)

// Call is a command with its arguments.
type Call struct {
	Words   []word.Word // the first one names the program
	More    bool        // data adds arguments that nobody knows
	NoInput bool        // its standard input is not that of what runs it
}

// Args returns the words after the program.
func (c Call) Args() []word.Word { return c.Words[1:] }

// Name returns the program.
func (c Call) Name() string { return c.Words[0].Text }

// Kind is what an [Effect] is.
type Kind int

// The kinds of effects, with the fields that they have.
const (
	Uses        Kind = iota // the file that Word names, see Write, Why and First
	UsesPath                // the file Text, see Write and Why
	Unknown                 // something, for a Reason
	UnknownPath             // the name of a file, in Text, or in the command if that is empty; see Write
	Enters                  // the directory that Word names, for what follows
	Assigns                 // the variable in Word, perhaps with a value
	RunsText                // Word, in a new shell
	RunsInput               // what is on standard input, in a new shell
	Runs                    // Call, see Builtins and Matches
	Splits                  // Word into options and words of the command, which Call.Words follow
)

// Effect is one effect of a command.
type Effect struct {
	Kind      Kind
	Word      word.Word
	Text      string
	Write     bool
	Why       string
	First     bool // where the command itself is run, not in a directory that it enters
	Reason    Reason
	Call      Call
	Builtins  bool        // the shell runs it, so that builtins count, if it runs the command
	Matches   []word.Word // what {} stands for; nil: nothing
	InMatches bool        // it is run in these directories
	Packaged  bool        // a package manager or the like runs it
	Remote    bool        // on another machine, whose paths mean nothing here
}

// List collects the effects of a command in their order.
type List struct {
	All      []Effect
	packaged bool
	remote   bool
}

func (l *List) add(e Effect) {
	e.Packaged, e.Remote = l.packaged, l.remote
	l.All = append(l.All, e)
}

// Packaged notes whether a package manager or the like has the effects that follow.
func (l *List) Packaged(on bool) { l.packaged = on }

// Remote notes that the effects that follow are on another machine.
func (l *List) Remote() { l.remote = true }

// Use adds the use of a file that a word names.
func (l *List) Use(x word.Word, write bool, why string) {
	l.add(Effect{Kind: Uses, Word: x, Write: write, Why: why})
}

// UseFirst is Use for a file that is named where the command itself is run.
func (l *List) UseFirst(x word.Word, write bool, why string) {
	l.add(Effect{Kind: Uses, Word: x, Write: write, Why: why, First: true})
}

// UsePath adds the use of a file.
func (l *List) UsePath(path string, write bool, why string) {
	l.add(Effect{Kind: UsesPath, Text: path, Write: write, Why: why})
}

// Unknown adds that something of the command is not known.
func (l *List) Unknown(r Reason) { l.add(Effect{Kind: Unknown, Reason: r}) }

// UnknownPath adds that the name of a file is not known; "" is any of the command.
func (l *List) UnknownPath(text string, write bool) {
	l.add(Effect{Kind: UnknownPath, Text: text, Write: write})
}

// Enter adds a change to a directory.
func (l *List) Enter(x word.Word) { l.add(Effect{Kind: Enters, Word: x}) }

// Assign adds a change of a variable: NAME or NAME=VALUE.
func (l *List) Assign(x word.Word) { l.add(Effect{Kind: Assigns, Word: x}) }

// RunText adds a text that a new shell runs.
func (l *List) RunText(x word.Word) { l.add(Effect{Kind: RunsText, Word: x}) }

// RunInput adds that a new shell runs what is on standard input.
func (l *List) RunInput() { l.add(Effect{Kind: RunsInput}) }

// Run adds a command; with builtins, those of the shell count as such.
func (l *List) Run(c Call, builtins bool) {
	l.add(Effect{Kind: Runs, Call: c, Builtins: builtins})
}

// RunFor adds a command that is run for files below some directories: {} in it is one of them; in, it runs there.
func (l *List) RunFor(matches []word.Word, in bool, c Call) {
	l.add(Effect{Kind: Runs, Call: c, Matches: matches, InMatches: in})
}

// Split adds that a word holds options and words of the command, which the others follow.
func (l *List) Split(x word.Word, others []word.Word) {
	l.add(Effect{Kind: Splits, Word: x, Call: Call{Words: others}})
}
