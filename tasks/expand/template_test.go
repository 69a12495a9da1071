package expand

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/tasks"
)

func TestUnboundedTextsAreRefused(t *testing.T) {
	value := strings.Repeat("x", 100_000)
	for _, tt := range nightly.Sample([]struct {
		name     string
		manifest string
		want     string
	}{
		{"one text", "vars: {x: " + value + "}\n" + head + "tasks: [{id: a, prompt: '" + strings.Repeat("${{ vars.x }}", 11) + "'}]", "m.yaml:4:25: the text exceeds 1 MiB after its variables are filled in; shorten it or its variables"},
		{"all texts", "vars: {x: " + value + "}\n" + head + "tasks: [{id: a, prompt: '${{ vars.x }}', matrix: {a: &l [0,1,2,3,4,5,6,7,8,9], b: *l, c: *l, d: [0,1,2]}}]", "m.yaml:4:25: the texts of the plan exceed 128 MiB after their variables are filled in; split the plan"},
		{"texts of aliases", "vars: {x: &x " + value + "}\n" + head + "instructions: [" + strings.Repeat("*x,", 200) + "]\ntasks: [{id: a, prompt: p}]", "m.yaml:4:514: the file expands to more than 16 MiB of text; use fewer aliases"},
	}, 2, 0) {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadText(t, tt.manifest, nil, tasks.Overrides{})
			if diff := cmp.Diff([]string{tt.want}, lines(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
