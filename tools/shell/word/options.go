package word

import "strings"

// How a program reads its options is written as one string, for instance
// "-n -k: -o> --output>": each option with a mark for the kind of its value.
const (
	MarkFlag     = ' ' // no mark: it has no value
	MarkValue    = ':' // a value that is neither a file nor a command
	markOptional = '*' // a value that can only stand in the same word
	MarkReads    = '<' // a file that is read
	MarkWrites   = '>' // a file that is written
	MarkEnters   = '^' // a directory that the program changes to
	MarkRuns     = '!' // a command line for a shell
	MarkOpaque   = '?' // a flag after which it can't be told what runs
	MarkHides    = '%' // a value that decides what runs, in a way that isn't followed
	MarkLists    = '#' // a file that names the files to be used
	MarkAssigns  = '=' // a variable's assignment for the command
	AllMarks     = ":*<>^!?%#="
	RunMarks     = "!?%" // marks of options that can run something
)

// Option is one option of a command.
type Option struct {
	Name  string // in full
	Mark  byte
	Value Word
	Given bool // it has a value
	Known bool // the program's description has it
}

// Parsed is a command's arguments after parsing.
type Parsed struct {
	Options  []Option
	Operands []Word
	strict   bool // an option can decide what runs
	Unsure   bool // and it isn't known which options there are
}

// Has reports whether any of the options, written with spaces between, was
// given.
func (p Parsed) Has(names string) bool {
	for _, o := range p.Options {
		for n := range strings.FieldsSeq(names) {
			if o.Name == n {
				return true
			}
		}
	}
	return false
}

// Lookup finds an option in a description. Long options may be shortened.
func Lookup(spec, name string) (full string, mark byte, ok bool) {
	long := strings.HasPrefix(name, "--")
	for o := range strings.FieldsSeq(spec) {
		n, m := o, byte(MarkFlag)
		if last := o[len(o)-1]; len(o) > 1 && strings.IndexByte(AllMarks, last) >= 0 {
			n, m = o[:len(o)-1], last
		}
		if n == name {
			return n, m, true
		}
		if long && !ok && strings.HasPrefix(n, name) {
			full, mark, ok = n, m, true
		}
	}
	return full, mark, ok
}

// ParseOptions parses a command's arguments as getopt does: options and
// operands in any order, "--" ends the options, short ones may be joined. With
// first, the first operand ends the options too. A word that starts with an
// expansion counts as an operand.
func ParseOptions(spec string, args []Word, first bool) Parsed {
	p := Parsed{strict: first || strings.ContainsAny(spec, RunMarks)}
	for len(args) > 0 {
		x := args[0]
		args = args[1:]
		p.doubt(mayBeOption(x))
		switch {
		case x.Is("--"):
			p.Operands = append(p.Operands, args...)
			return p
		case x.Starts("-") && len(x.Text) > 1 && x.Kinds[1] != Single && x.Kinds[1] != Split:
			args = p.option(spec, x, args)
		case first:
			p.Operands = append([]Word{x}, args...)
			return p
		default:
			p.Operands = append(p.Operands, x)
		}
	}
	return p
}

// doubt notes that the options aren't known, if that matters.
func (p *Parsed) doubt(unsure bool) { p.Unsure = p.Unsure || unsure && p.strict }

// mayBeOption reports whether a word may expand to any option.
func mayBeOption(x Word) bool {
	_, known := Home(x)
	e := x.Expansion()
	return !known && e >= 0 && x.Kinds[0] != Channel && strings.Trim(x.Text[:e], "-") == ""
}

// option reads the options in one word and returns the words after them.
func (p *Parsed) option(spec string, x Word, args []Word) []Word {
	if _, _, ok := Lookup(spec, x.Text); ok || strings.HasPrefix(x.Text, "--") {
		return p.long(spec, x, args)
	}
	for i := 1; i < len(x.Text); i++ {
		if x.Kinds[i] == Single || x.Kinds[i] == Split {
			p.doubt(true)
			return args
		}
		name, mark, known := Lookup(spec, "-"+x.Text[i:i+1])
		if !known {
			name = "-" + x.Text[i:i+1]
		}
		o := Option{Name: name, Mark: mark, Known: known}
		if !HasValue(mark) && mark != markOptional {
			p.Options = append(p.Options, o)
			continue
		}
		if rest := x.After(i + 1); rest.Text != "" {
			o.Value, o.Given = rest, true
			p.doubt(rest.Splits() || !strings.ContainsAny(rest.Kinds, "bq")) // an empty value makes the next word the value
		} else if mark != markOptional && len(args) > 0 {
			o.Value, o.Given, args = args[0], true, args[1:]
			p.doubt(o.Value.Splits())
		}
		p.Options = append(p.Options, o)
		break
	}
	return args
}

// long reads a long option.
func (p *Parsed) long(spec string, x Word, args []Word) []Word {
	head, tail, equals := x.Cut("=")
	name, mark, known := Lookup(spec, head.Text)
	if !known {
		name = head.Text
	}
	o := Option{Name: name, Mark: mark, Known: known && head.Literal(), Value: tail, Given: equals}
	if !equals && HasValue(mark) && len(args) > 0 {
		o.Value, o.Given, args = args[0], true, args[1:]
	}
	p.doubt(o.Value.Splits() || !head.Literal())
	p.Options = append(p.Options, o)
	return args
}

// HasValue reports whether the value of an option with a mark may be the next word.
func HasValue(mark byte) bool {
	return mark != 0 && strings.IndexByte(":<>^!%#=", mark) >= 0
}
