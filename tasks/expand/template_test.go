package expand

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/tasks"
)

func TestTemplatesAreExpandedOnce(t *testing.T) {
	for _, tt := range []struct{ prompt, want string }{
		{`plain $ { } $$ ${x} {{ x }}`, `plain $ { } $$ ${x} {{ x }}`},
		{`${{vars.x}}`, `1`},
		{`a${{ vars.x }}b${{	vars.y-z	}}c`, `a1b2c`},
		{`${{ vars.hostile }}`, `${{ env.HOME }} $(rm -rf /) '"`},
		{`$${{ vars.x }}`, `${{ vars.x }}`},
		{`$$${{ vars.x }}`, `$${{ vars.x }}`},
		{`$${{ $${{ ${{ vars.x }} }}`, `${{ ${{ 1 }}`},
		{`}} ${{ vars.x }} }}`, `}} 1 }}`},
		{`${{ env.BUILD }} ${{ repo.name }} ${{ task.id }} ${{ matrix.k }}`, `17 shop a v`},
		{`${{ vars.empty }}.${{ repo.ref }}.`, `..`},
	} {
		t.Run(tt.prompt, func(t *testing.T) {
			p := mustLoad(t, head+`vars: {x: 1, y-z: 2, empty: "", hostile: "${{ env.HOME }} $(rm -rf /) '\""}
tasks:
  - id: a
    matrix: {k: [v]}
    prompt: |-
      `+tt.prompt+"\n", tasks.Overrides{})
			if got := p.Jobs[0].Prompt; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestVariablesHaveAPositionInEveryKindOfText(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prompt string
		want   []string
	}{
		{"plain", `é ${{ vars.a }} ${{ vars.b }}`, []string{"5:15", "5:29"}},
		{"plain on several lines", "x\n      y ${{ vars.a }}\n\n      ${{ vars.b }}", []string{"6:9", "8:7"}},
		{"single quotes", `'it''s ${{ vars.a }}'`, []string{"5:20"}},
		{"double quotes", `"\té ${{ vars.a }}"`, []string{"5:18"}},
		{"an escape in double quotes", `"\x24{{ vars.a }}"`, []string{"5:13"}},
		{"literal", "|  # ${{ no }}\n      x\n\n        ${{ vars.a }}\n      ${{ vars.b }}", []string{"8:9", "9:7"}},
		{"folded", ">-\n      x\n      ${{ vars.a }} $${{ vars.x }} ${{ vars.b }}", []string{"7:7", "7:36"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadText(t, head+"tasks:\n  - id: a\n    prompt: "+tt.prompt+"\n", nil, tasks.Overrides{})
			var got []string
			for _, l := range lines(t, err) {
				position, _, _ := strings.Cut(strings.TrimPrefix(l, "m.yaml:"), ": ")
				got = append(got, position)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

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
