package shell

import (
	"fmt"
	"strconv"
	"strings"
)

// outline writes an analysis as the table has it: "c" a command in plain form,
// "i" one that a package manager runs,
// "r" and "w" a file read or written with the directory after "@", "?" what is
// unknown, "!" an error.
func outline(a Analysis, err error) string {
	if err != nil {
		return "!\n"
	}
	var b strings.Builder
	for _, c := range a.Commands {
		mark := "c"
		if c.Inner {
			mark = "i"
		}
		fmt.Fprintf(&b, "%s %s\n", mark, oneLine(c.Plain))
	}
	for _, x := range a.Accesses {
		use := "r"
		if x.Write {
			use = "w"
		}
		fmt.Fprintf(&b, "%s %s", use, oneLine(x.Path))
		if x.Dir != "" {
			fmt.Fprintf(&b, " @%s", x.Dir)
		}
		b.WriteByte('\n')
	}
	for _, u := range a.Unknown {
		fmt.Fprintf(&b, "? %s: %s\n", u.Reason, oneLine(u.Text))
	}
	return b.String()
}

// oneLine quotes what would not fit on a line of the table.
func oneLine(s string) string {
	if strings.ContainsAny(s, "\n\r\t\x00") || s == "" || strings.HasSuffix(s, " ") {
		return strconv.Quote(s)
	}
	return s
}
