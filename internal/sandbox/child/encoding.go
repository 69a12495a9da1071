package child

import (
	"errors"
	"strconv"
)

// errMalformed means that a text is not an encoded plan or request, or that one can't be encoded.
var errMalformed = errors.New("malformed text")

// Encode returns the plan in the form that a child reads: its fields in order, each a text
// that ends with a NUL byte. Reflection, which encoding/json needs, would cost a child more
// than a millisecond. It fails if a path contains a NUL byte.
func (p *Plan) Encode() ([]byte, error) {
	c := &codec{writing: true}
	p.fields(c)
	return c.written, c.err
}

// decode reads an encoded plan.
func decode(text []byte) (*Plan, error) {
	c, p := &codec{rest: string(text)}, &Plan{}
	if p.fields(c); c.rest != "" {
		c.err = errMalformed
	}
	return p, c.err
}

// Encode returns the request in the form of [Plan.Encode]. It fails if a text contains a NUL byte.
func (r *Request) Encode() ([]byte, error) {
	c := &codec{writing: true}
	r.fields(c)
	return c.written, c.err
}

// decodeRequest reads an encoded request.
func decodeRequest(text []byte) (*Request, error) {
	c, r := &codec{rest: string(text)}, &Request{}
	if r.fields(c); c.rest != "" {
		c.err = errMalformed
	}
	return r, c.err
}

// codec writes or reads fields.
type codec struct {
	writing bool
	written []byte
	rest    string // still to read
	err     error
}

func (p *Plan) fields(c *codec) {
	flag(c, &p.Namespaces)
	number(c, &p.UID)
	number(c, &p.GID)
	list(c, &p.Mounts, (*Mount).fields)
	list(c, &p.Rules, (*Rule).fields)
	number(c, &p.Landlock)
	text(c, &p.Sockets)
	number(c, &p.ConnectPort)
	number(c, &p.ListenPort)
	number(c, &p.Limits.Pids)
	text(c, &p.Limits.Keeper)
	flag(c, &p.Limits.PIDMax)
	number(c, &p.Limits.DataBytes)
	number(c, &p.Limits.FileBytes)
	number(c, &p.Grace)
}

func (r *Request) fields(c *codec) {
	text(c, &r.Dir)
	texts(c, &r.Args)
	texts(c, &r.Env)
}

func (m *Mount) fields(c *codec) {
	text(c, &m.Kind)
	text(c, &m.Path)
	text(c, &m.Source)
	flag(c, &m.Write)
	number(c, &m.Bytes)
	text(c, &m.Layers)
	texts(c, &m.Without)
	flag(c, &m.Optional)
}

func (r *Rule) fields(c *codec) {
	text(c, &r.Path)
	text(c, &r.Access)
	flag(c, &r.Entry)
	flag(c, &r.File)
}

func text[T ~string](c *codec, value *T) {
	if c.writing {
		if indexByte(string(*value), 0) >= 0 {
			c.err = errMalformed
		}
		c.written = append(append(c.written, *value...), 0)
		return
	}
	before, after, found := cut(c.rest, 0)
	if !found {
		c.err = errMalformed
	}
	*value, c.rest = T(before), after
}

func number[T ~int | ~int64 | ~uint16](c *codec, value *T) {
	digits := ""
	if c.writing {
		digits = strconv.FormatInt(int64(*value), 10)
	}
	text(c, &digits)
	if c.writing {
		return
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || int64(T(n)) != n {
		c.err = errMalformed
	}
	*value = T(n)
}

func flag(c *codec, value *bool) {
	n := 0
	if *value {
		n = 1
	}
	number(c, &n)
	*value = n == 1
}

func texts(c *codec, values *[]string) {
	list(c, values, func(p *string, c *codec) { text(c, p) })
}

func list[T any](c *codec, values *[]T, fields func(*T, *codec)) {
	n := len(*values)
	if number(c, &n); n < 0 || n > len(c.rest) && !c.writing { // an element has a byte at least
		c.err = errMalformed
		return
	}
	if !c.writing && n > 0 {
		*values = make([]T, n)
	}
	for i := range *values {
		fields(&(*values)[i], c)
	}
}
