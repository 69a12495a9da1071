package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

func TestValuesOfOtherTypesAreTolerated(t *testing.T) {
	type inner struct {
		S String `json:"s"`
	}
	type outer struct {
		S String      `json:"s"`
		I Int         `json:"i"`
		L List[inner] `json:"l"`
		O inner       `json:"o"`
		Z String      `json:"z"`
	}
	for text, want := range map[string]outer{
		`null`:     {},
		`{}`:       {},
		`{"z":""}`: {},
		`{"s":null,"i":null,"l":null,"o":null,"z":"z"}`: {Z: "z"},
		`{"s":"a","i":1,"l":[{"s":"b"}],"o":{"s":"c"}}`: {S: "a", I: Int{1, true}, L: List[inner]{Items: []inner{{"b"}}, Valid: true}, O: inner{"c"}},
		`{"s":"\u00e9\"é\\","i":-1}`:                    {S: `é"é\`, I: Int{-1, true}},
		`{"s":{"a": 1},"i":"2"}`:                        {S: `{"a": 1}`, I: Int{2, true}},
		`{"s":[],"i":3.9}`:                              {S: "[]", I: Int{3, true}},
		`{"s":1.5,"i":"3.9"}`:                           {S: "1.5", I: Int{3, true}},
		`{"s":false,"i":1e3}`:                           {S: "false", I: Int{1000, true}},
		`{"i":1e300}`:                                   {},
		`{"i":"inf"}`:                                   {},
		`{"i":""}`:                                      {},
		`{"i":[1]}`:                                     {},
		`{"o":[1],"z":"z"}`:                             {Z: "z"},
		`{"o":"x","z":"z"}`:                             {Z: "z"},
		`{"l":[null,{"s":1}]}`:                          {L: List[inner]{Items: []inner{{}, {"1"}}, Valid: true}},
		`{"l":[3],"z":"z"}`:                             {L: List[inner]{Lost: true}, Z: "z"},
		`{"l":{"s":"b"}}`:                               {L: List[inner]{Lost: true}},
		`{"l":"x"}`:                                     {L: List[inner]{Lost: true}},
		`{"l":{}}`:                                      {},
		`{"l":""}`:                                      {},
		`{"l":[]}`:                                      {L: List[inner]{Items: []inner{}, Valid: true}},
	} {
		var got outer
		if err := Decode([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{`[]`, `3`, `"x"`, `true`, `{`, `{"s":"a"}x`, ``} {
		if err := Decode([]byte(text), new(outer)); err == nil {
			t.Errorf("%s is decoded", text)
		}
	}
}
