package jsonlayout

import (
	"bytes"
	"encoding/json"
	"testing"
)

// Laying out changes nothing but white space and the form of strings.
func FuzzLayout(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":{"c":[[],{}]}}],"d":"\"\\\/\u0041\ud83d\ude00","":-1.50e+3}`))
	f.Add([]byte("\"\xff\\ud800\""))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return
		}
		var want any
		if json.Unmarshal(raw, &want) != nil {
			return // a number that Go can't hold
		}
		wantText, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for levels := range 4 {
			laid := Append(nil, compact.Bytes(), 0, levels)
			var got any
			if err := json.Unmarshal(laid, &got); err != nil {
				t.Fatalf("Append(%s) = %s: %v", raw, laid, err)
			}
			if gotText, err := json.Marshal(got); err != nil || !bytes.Equal(gotText, wantText) {
				t.Errorf("Append(%s) = %s", raw, laid)
			}
		}
	})
}
