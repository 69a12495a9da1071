package verification_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report/evidence"
)

func TestARunIsVerified(t *testing.T) {
	own, f := newOwner(t, "ann"), honest()
	f.key = own.key
	r := record(t, f)
	got := verify(r.files, own.allowed, r.repo())
	if len(got.Problems) > 0 || len(got.Notes) > 0 || len(got.Verified) != 8 || got.Run != runID {
		t.Errorf("%+v", got)
	}
	if got := verify(r.files, nil); len(got.Problems) > 0 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "--allowed-signers") {
		t.Errorf("without allowed signers: %+v", got)
	}
	f.key = nil
	r = record(t, f)
	if got := verify(r.files, nil); len(got.Problems) > 0 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "nothing outside") {
		t.Errorf("without a signature: %+v", got)
	}
	if got := verify(r.files, own.allowed); len(got.Problems) != 1 || got.Problems[0].File != evidence.SignatureFile {
		t.Errorf("without a signature that is required: %+v", got)
	}
}

func TestRemovedOutputsAreNoProblem(t *testing.T) {
	r := record(t, honest())
	delete(r.files, "outputs/one/c.txt")
	if got := verify(r.files, nil, r.repo()); len(got.Problems) > 0 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "1 files of outputs were removed") {
		t.Errorf("%+v", got)
	}
	r.files["outputs/two/c.txt"].Data = []byte("other")
	if got := verify(r.files, nil); len(got.Problems) != 1 || got.Problems[0].File != "outputs/two/c.txt" {
		t.Errorf("%+v", got)
	}
}

// A directory that somebody has made from other facts, with all hashes, reports and
// statements, agrees with itself: only the anchors detect it.
func TestARebuiltChainIsDetected(t *testing.T) {
	own, thief := newOwner(t, "ann"), newOwner(t, "mallory")
	f := honest()
	f.key = own.key
	r := record(t, f)
	for name, change := range map[string]func(*facts){
		"cost":    func(f *facts) { f.cost = 1 },
		"rule":    func(f *facts) { f.rule = "edit: docs/**" },
		"outcome": func(f *facts) { f.outcomes[1] = event.Passed },
		"nothing": func(*facts) {},
	} {
		other := honest()
		change(&other)
		unsigned := record(t, other)
		if got := verify(unsigned.files, nil); len(got.Problems) > 0 {
			t.Fatalf("%s: the directory does not agree with itself: %v", name, got.Problems)
		}
		if got := verify(unsigned.files, own.allowed); len(got.Problems) == 0 {
			t.Errorf("%s: a missing signature is not detected", name)
		}
		if before := name == "cost" || name == "rule"; before { // of the commit
			if got := verify(unsigned.files, nil, r.repo()); len(got.Problems) == 0 {
				t.Errorf("%s: other trailers are not detected", name)
			}
		}
		other.key = thief.key
		signed := record(t, other)
		if got := verify(signed.files, own.allowed); len(got.Problems) != 1 || !strings.Contains(got.Problems[0].What, "is not an allowed signer") {
			t.Errorf("%s: the signature of another key: %+v", name, got.Problems)
		}
		if name == "nothing" {
			continue
		}
		signed.files[evidence.SignatureFile] = r.files[evidence.SignatureFile]
		if got := verify(signed.files, own.allowed); len(got.Problems) != 1 || !strings.Contains(got.Problems[0].What, "invalid signature") {
			t.Errorf("%s: the signature of another statement: %+v", name, got.Problems)
		}
	}
}

// The commits of the repository must be those of the events, and the other way round.
func TestOtherCommitsAreDetected(t *testing.T) {
	r := record(t, honest())
	hash := slices.Collect(maps.Keys(r.commits))[0]
	message := r.commits[hash]
	for name, commits := range map[string]map[string]string{
		"none":     {},
		"amended":  {strings.Repeat("d", 40): message},
		"more":     {hash: message, strings.Repeat("d", 40): strings.Replace(message, "Job: one", "Job: three", 1)},
		"reworded": {strings.Repeat("d", 40): "other " + message},
	} {
		other := ran{r.files, commits}
		if got := verify(r.files, nil, other.repo()); len(got.Problems) != 1 || got.Problems[0].File != "shop" {
			t.Errorf("%s: %+v", name, got.Problems)
		}
	}
	elsewhere := r.repo()
	elsewhere.Has, elsewhere.Messages = nil, nil
	if got := verify(r.files, nil, elsewhere); len(got.Problems) != 1 || !strings.Contains(got.Problems[0].What, "no commit of the run") {
		t.Errorf("another repository: %+v", got.Problems)
	}
}
