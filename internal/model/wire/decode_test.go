package wire

import "testing"

func TestNumbersThatAreNotFinite(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":NaN,"b":[Infinity,-Infinity, 1]}`: `{"a":null,"b":[null,null, 1]}`,
		`{"NaN":"\"NaN\\","b":NaN}`:             `{"NaN":"\"NaN\\","b":null}`,
		`{"a":"Infinity`:                        `{"a":"Infinity`,
		`"\`:                                    `"\`,
	} {
		if got := string(finite([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	var v struct{ A, B *int }
	if err := Decode([]byte(`{"a":NaN,"b":2}`), &v); err != nil || v.A != nil || v.B == nil || *v.B != 2 {
		t.Errorf("got %+v and %v", v, err)
	}
	if err := Decode([]byte(`{"a":NaN`), &v); err == nil {
		t.Error("half an object is decoded")
	}
}
