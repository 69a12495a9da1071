package option

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/money"
)

func TestTextsThatAreNoValueAreRefused(t *testing.T) {
	var n int
	var usd money.USD
	var d time.Duration
	var vars map[string]string
	for name, tt := range map[string]struct {
		value interface{ Set(string) error }
		texts []string
		want  string
	}{
		"a number":   {Of(&n, AtLeastOne), []string{"", "0", "-1", "1.5", "x", "99999999999999999999"}, "an integer greater than 0"},
		"dollars":    {Of(&usd, Dollars), []string{"", "0", "-1", "NaN", "x", "1e99"}, "for example 2.50"},
		"a duration": {Of(&d, Period), []string{"", "0s", "-1m", "90"}, "for example 90m"},
		"a variable": {Variables{&vars}, []string{"", "x", "=y"}, "NAME=VALUE"},
	} {
		for _, text := range tt.texts {
			if err := tt.value.Set(text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %q: got %v, want %q", name, text, err, tt.want)
			}
		}
	}
	if n != 0 || usd != 0 || d != 0 || vars != nil {
		t.Errorf("a refused text has set a value: %d, %s, %s, %v", n, usd, d, vars)
	}
}

func TestValuesAreShownAsTheyAreSet(t *testing.T) {
	var n int
	var list Texts
	var vars map[string]string
	var text *string
	for _, tt := range []struct {
		value interface {
			fmt.Stringer
			Set(string) error
		}
		texts        []string
		before, want string
	}{
		{Of(&n, AtLeastOne), []string{"3", "4"}, "", "4"}, // the last one counts
		{&list, []string{"b", "a,c"}, "", "b, a,c"},
		{Variables{&vars}, []string{"y=2=3", "x=", "y=4"}, "", "x=, y=4"},
		{Text{&text}, []string{""}, "", ""},
		{Text{&text}, []string{"a prompt"}, "", "a prompt"},
	} {
		if got := tt.value.String(); got != tt.before {
			t.Errorf("before: %q", got)
		}
		for _, text := range tt.texts {
			if err := tt.value.Set(text); err != nil {
				t.Error(err)
			}
		}
		if got := tt.value.String(); got != tt.want {
			t.Errorf("set to %q: %q, want %q", tt.texts, got, tt.want)
		}
		text = nil
	}
}
