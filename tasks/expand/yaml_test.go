package expand

import (
	"testing"
)

func TestFilesThatAreNoManifests(t *testing.T) {
	checkMistakes(t, []mistake{
		{"lines of Windows", "version: 1\r\nname: 5\r\ntasks: [{id: a, prompt: '${{ vars.x }}', model: openai/m}]\r\n", []string{
			`m.yaml:2:7: "name" must be a string, not the number 5; put it in quotes`,
			`m.yaml:3:26: unknown variable "vars.x"; declare it with vars:`,
		}},
	})
}
