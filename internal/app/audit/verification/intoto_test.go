package verification_test

import (
	"slices"
	"testing"

	testresult "github.com/in-toto/attestation/go/predicates/test_result/v0"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millhand/millhand/report/evidence"
)

// The Statements are valid for in-toto's own module.
func TestStatementsAreThoseOfInToto(t *testing.T) {
	r := record(t, honest())
	for file, want := range map[string]struct {
		predicate string
		subjects  int
	}{
		evidence.StatementFile: {evidence.RunPredicate, 12}, // a commit and 11 files
		evidence.TestsFile:     {evidence.TestPredicate, 3}, // a commit and 2 patches
	} {
		s := &intoto.Statement{}
		if err := protojson.Unmarshal(r.files[file].Data, s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if s.GetPredicateType() != want.predicate || len(s.GetSubject()) != want.subjects {
			t.Errorf("%s: predicate %s with %d subjects: %v", file, s.GetPredicateType(), len(s.GetSubject()), s.GetSubject())
		}
		if commits := slices.DeleteFunc(s.GetSubject(), func(d *intoto.ResourceDescriptor) bool { return d.GetDigest()["gitCommit"] == "" }); len(commits) != 1 || commits[0].GetName() != "commit of one" {
			t.Errorf("%s: commits %v", file, commits)
		}
		if want.predicate != evidence.TestPredicate {
			continue
		}
		text, err := protojson.Marshal(s.GetPredicate())
		if err != nil {
			t.Fatal(err)
		}
		result := &testresult.TestResult{}
		if err := protojson.Unmarshal(text, result); err != nil {
			t.Fatal(err)
		}
		if result.GetResult() != "FAILED" || !slices.Equal(result.GetPassedTests(), []string{"one: tests"}) || !slices.Equal(result.GetFailedTests(), []string{"two: tests"}) || len(result.GetConfiguration()) != 1 {
			t.Errorf("%s: %v", file, result)
		}
	}
}
