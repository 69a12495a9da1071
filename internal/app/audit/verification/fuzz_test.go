package verification_test

import (
	"bytes"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/millhand/millhand/report/evidence"
)

// FuzzVerify verifies files that somebody has made. Only those of the run are without problems.
func FuzzVerify(f *testing.F) {
	own, facts := newOwner(f, "ann"), honest()
	facts.key = own.key
	r := record(f, facts)
	events, statement, signature := r.files[evidence.EventsFile].Data, r.files[evidence.StatementFile].Data, r.files[evidence.SignatureFile].Data
	f.Add(events, statement, signature)
	f.Add(events[:len(events)/2], statement[1:], []byte("-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n"))
	f.Add([]byte(`{"seq":1,"type":"run.started","run":{"evidence":{}}}`+"\n"+`{"seq":2,"type":"sealed","seal":{"files":[{"name":"../x"},{"name":""}]}}`+"\n"), []byte("{}"), []byte{})
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		files := fstest.MapFS{}
		maps.Copy(files, r.files)
		for name, data := range map[string][]byte{evidence.EventsFile: a, evidence.StatementFile: b, evidence.SignatureFile: c} {
			files[name] = &fstest.MapFile{Data: data}
		}
		got := verify(files, own.allowed, r.repo())
		if equal := bytes.Equal(a, events) && bytes.Equal(b, statement) && bytes.Equal(c, signature); equal != (len(got.Problems) == 0) {
			t.Errorf("equal %t, and %+v", equal, got.Problems)
		}
	})
}
