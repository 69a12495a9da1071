package pathglob

import (
	"errors"
	"strings"
)

// Split splits patterns at commas outside of braces, classes and escapes. Spaces around each
// and empty ones are dropped; one pattern without a comma remains as it is.
func Split(patterns string) ([]string, error) {
	b := braces{text: patterns}
	var list []string
	for start := 0; ; {
		if err := b.skip(); err != nil {
			return nil, err
		}
		if start == 0 && b.pos == len(patterns) {
			return []string{patterns}, nil
		}
		if one := strings.TrimSpace(patterns[start:b.pos]); one != "" {
			list = append(list, one)
		}
		if b.pos == len(patterns) {
			break
		}
		b.pos++
		start = b.pos
	}
	if len(list) == 0 {
		return nil, errors.New("empty pattern")
	}
	return list, nil
}

// skip goes to the next comma outside of braces, or to the end.
func (b *braces) skip() error {
	for depth := 0; b.pos < len(b.text); {
		switch b.text[b.pos] {
		case '{':
			depth++
			b.pos++
		case '}':
			depth--
			b.pos++
		case ',':
			if depth <= 0 {
				return nil
			}
			b.pos++
		default:
			if _, err := b.plain(true); err != nil {
				return err
			}
		}
	}
	return nil
}
