package untrusted

import "testing"

func TestFilesOfMarkedJobs(t *testing.T) {
	var f Files
	f.Add("a", "", "/u/app/out.json")
	f.Add("b", "/u/web", "/u/web")
	for dir, want := range map[string]string{
		"/u/app": "a", "/u/app/out.json": "a", "/u/app/src": "", "/u/apples": "", "/u/web": "b", "/u/web/src": "b", "/u": "a", "/v": "", "": "",
	} {
		if got := f.Of(dir); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	if len(f.all) != 2 {
		t.Errorf("%v", f.all)
	}
}
