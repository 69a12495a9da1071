package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansi resolves the escapes of a $'...' string as bash does ("ANSI-C Quoting"
// in its manual). A NUL ends the string.
func ansi(s string) string {
	var b strings.Builder
	for s != "" {
		if s[0] != '\\' || len(s) == 1 {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		out, rest := escape(s[1:])
		if out == "\x00" {
			return b.String()
		}
		b.WriteString(out)
		s = rest
	}
	return b.String()
}

// escape returns what the escape at the start of s, its backslash removed,
// stands for, and what follows it.
func escape(s string) (out, rest string) {
	const letters, values = `abeEfnrtv\'"?`, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
	if i := strings.IndexByte(letters, s[0]); i >= 0 {
		return values[i : i+1], s[1:]
	}
	switch s[0] {
	case 'x':
		if strings.HasPrefix(s, "x{") {
			return braced(s)
		}
		return number(s, 1, 2, 16, false)
	case 'u':
		return number(s, 1, 4, 16, true)
	case 'U':
		return number(s, 1, 8, 16, true)
	case 'c':
		return control(s)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return number(s, 0, 3, 8, false)
	}
	return `\` + s[:1], s[1:]
}

// number resolves an escape of up to n digits that begin at s[from]: a byte,
// or a character if it is a rune.
func number(s string, from, n, base int, char bool) (out, rest string) {
	end := from
	for end < len(s) && end < from+n && isDigit(s[end], base) {
		end++
	}
	if end == from {
		return `\` + s[:from], s[from:]
	}
	v, _ := strconv.ParseUint(s[from:end], base, 32) // at most eight hexadecimal digits
	if char && v >= utf8.RuneSelf {
		return string(rune(v)), s[end:]
	}
	return string([]byte{byte(v)}), s[end:]
}

// braced resolves \x{...}: any number of digits, of which the last byte counts.
func braced(s string) (out, rest string) {
	end := 2
	for end < len(s) && isDigit(s[end], 16) {
		end++
	}
	v, _ := strconv.ParseUint(s[max(2, end-2):end], 16, 8) // at most two digits, none gives 0
	if end < len(s) && s[end] == '}' {
		end++
	}
	return string([]byte{byte(v)}), s[end:]
}

// control resolves \cX.
func control(s string) (out, rest string) {
	if len(s) < 2 {
		return `\c`, ""
	}
	rest = s[2:]
	if s[1] == '\\' && strings.HasPrefix(rest, `\`) {
		rest = rest[1:]
	}
	if s[1] == '?' {
		return "\x7f", rest
	}
	return string([]byte{strings.ToUpper(s[1:2])[0] & 0x1f}), rest
}

func isDigit(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '7':
		return true
	case base == 8:
		return false
	}
	return c >= '8' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
