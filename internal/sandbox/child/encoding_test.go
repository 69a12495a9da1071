package child

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// fill sets every field to a value of its own.
func fill(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.String:
		v.SetString("text\n" + strings.Repeat("é", *next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint16:
		v.SetUint(uint64(60000 + *next))
	default:
		v.SetInt(-1 << 40 * int64(*next))
	}
}

func TestAPlanIsEncodedCompletely(t *testing.T) {
	var full Plan
	fill(reflect.ValueOf(&full).Elem(), new(int))
	for _, p := range []*Plan{{}, &full} {
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(text)
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("got %+v, %v, want %+v", got, err, p)
		}
		for n := range text {
			if got, err := decode(text[:n]); err == nil {
				t.Fatalf("%d of %d bytes: got %+v", n, len(text), got)
			}
		}
		if _, err := decode(append(text, "x\x00"...)); err == nil {
			t.Error("more than a plan: no error")
		}
	}
	if _, err := (&Plan{Rules: []Rule{{Path: "a\x00b"}}}).Encode(); err == nil {
		t.Error("a path with a NUL byte: no error")
	}
	if _, err := decode([]byte(strings.Repeat("9999999999\x00", 20))); err == nil {
		t.Error("too many mounts: no error")
	}
}

func TestRequestsAreEncoded(t *testing.T) {
	for _, r := range []Request{{}, {Dir: "/a b", Args: []string{"bash", "-c", "x\ny", ""}, Env: []string{"A=", "B=\xff=\n"}}} {
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeRequest(text); err != nil || !reflect.DeepEqual(*got, r) {
			t.Errorf("got %+v, %v; want %+v", got, err, r)
		}
		if _, err := decodeRequest(append(text, 'x')); !errors.Is(err, errMalformed) {
			t.Errorf("with more text: %v", err)
		}
	}
	if _, err := (&Request{Args: []string{"a\x00b"}}).Encode(); !errors.Is(err, errMalformed) {
		t.Errorf("with a NUL byte: %v", err)
	}
}
