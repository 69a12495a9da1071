package provider

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// namesWithSDKs are models of providers whose SDKs have types for bodies.
var namesWithSDKs = []string{
	"openai/gpt-4.1", "openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-6", "anthropic/claude-3-5-haiku-latest",
}

// fieldsOfSDKs lists the fields of bodies that TestTheSDKsKnowTheFieldsOfBodies has found in the
// types of the SDKs.
const fieldsOfSDKs = "testdata/fields.txt"

// TestTheFieldsOfBodiesAreKnown compares the fields of bodies with those that the SDKs have,
// without compiling the SDKs.
func TestTheFieldsOfBodiesAreKnown(t *testing.T) {
	known, err := os.ReadFile(fieldsOfSDKs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(known), fieldsOfBodies(t)); diff != "" {
		t.Errorf("(-%s +sent), compare them with the SDKs: go test -tags sdks ./internal/model/provider -run SDKs -update\n%s", fieldsOfSDKs, diff)
	}
}

// bodyFor returns the body of a request to a provider, KIND/MODEL.
func bodyFor(t *testing.T, name string) map[string]any {
	t.Helper()
	kind, id, _ := strings.Cut(name, "/")
	return decoded(t, string(capture(t, Config{Kind: kind, Model: id}, full()).Body))
}

// fieldsOfBodies returns the fields of all bodies, a line each.
func fieldsOfBodies(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, name := range namesWithSDKs {
		found := map[string]bool{}
		addFields(found, "", bodyFor(t, name))
		for _, field := range slices.Sorted(maps.Keys(found)) {
			text.WriteString(name + " " + field + "\n")
		}
	}
	return text.String()
}

// addFields adds the paths of the fields in a value.
func addFields(found map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, sub := range v {
			found[path+"."+key] = true
			addFields(found, path+"."+key, sub)
		}
	case []any:
		for _, sub := range v {
			addFields(found, path+"[]", sub)
		}
	}
}
