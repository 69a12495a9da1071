package option

import (
	"reflect"
	"strings"
	"testing"
)

// saved are options, and fields that set them.
type saved struct {
	keep  bool
	dir   string
	jobs  int
	only  []string
	vars  map[string]string
	quiet bool
}

func (s *saved) fields() []Field {
	return []Field{
		{Name: "keep", To: &s.keep},
		{Name: "dir", To: &s.dir},
		{Name: "jobs", To: Of(&s.jobs, AtLeastOne)},
		{Name: "only", To: (*Texts)(&s.only)},
		{Name: "var", To: Variables{&s.vars}},
		{Name: "quiet", Short: "q", To: &s.quiet},
	}
}

func TestASavedInvocationSetsItsOptions(t *testing.T) {
	for line, tt := range map[string]struct {
		others []string
		want   saved
		set    map[string]string
	}{
		"":                               {nil, saved{}, map[string]string{}},
		"a.yaml --keep b.yaml":           {[]string{"a.yaml", "b.yaml"}, saved{keep: true}, map[string]string{"keep": "true"}},
		"--keep=false -q a":              {[]string{"a"}, saved{quiet: true}, map[string]string{"keep": "false", "quiet": "true"}},
		"--dir x --dir=y -jobs 3":        {nil, saved{dir: "y", jobs: 3}, map[string]string{"dir": "y", "jobs": "3"}},
		"--only a --only b,c --var x=1=": {nil, saved{only: []string{"a", "b,c"}, vars: map[string]string{"x": "1="}}, map[string]string{"only": "a, b,c", "var": "x=1="}},
		"--dir --keep":                   {nil, saved{dir: "--keep"}, map[string]string{"dir": "--keep"}}, // a value, as on the command line
		"a - -- --keep -q":               {[]string{"a", "-", "--keep", "-q"}, saved{}, map[string]string{}},
	} {
		var got saved
		others, set, err := Read(got.fields(), strings.Fields(line))
		if err != nil || !reflect.DeepEqual(others, tt.others) || !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(set, tt.set) {
			t.Errorf("%s: %q, %+v, %v, %v", line, others, got, set, err)
		}
	}
}

func TestASavedInvocationThatCannotBeReadIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"--unknown":     "unknown flag --unknown",
		"-- a":          "",
		"--=x":          "unknown flag --=x",
		"a --dir":       "flag needs an argument: --dir",
		"--jobs 0":      `invalid value "0" for --jobs: must be an integer greater than 0`,
		"--keep=maybe":  `invalid value "maybe" for --keep: must be true or false`,
		"--var x -q -z": `invalid value "x" for --var: must be NAME=VALUE`,
	} {
		var got saved
		if _, _, err := Read(got.fields(), strings.Fields(line)); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
}
