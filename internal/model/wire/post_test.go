package wire

import "testing"

func TestAddresses(t *testing.T) {
	tests := []struct {
		base string
		want string // "" if the base URL is invalid
	}{
		{"https://h/v1", "https://h/v1/"},
		{"https://h/v1//", "https://h/v1/"},
		{"HTTP://h", "http://h/"},
		{"https://me:pass@h:8/a%2Fb/https://c", "https://me:pass@h:8/a%2Fb/https://c/"},
		{"https://h/v1/?x=1#y", "https://h/v1/"},
		{"", "https://api.test/"},
		{"https://", ""},
		{"https:///v1", ""},
		{"h/v1", ""},
		{"ftp://h", ""},
		{"https://h/%zz", ""},
	}
	for _, test := range tests {
		l := NewEndpoint(Options{BaseURL: test.base}, API{BaseURL: "https://api.test"})
		if test.want == "" {
			if l.refuse == nil {
				t.Errorf("%s: got %s, want an error", test.base, l.Base)
			}
			continue
		}
		if l.refuse != nil || l.Base != test.want {
			t.Errorf("%s: got %s, error %v, want %s", test.base, l.Base, l.refuse, test.want)
		}
	}
}
