package figures

import "testing"

func TestDuration(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "0ms", 999: "999ms", 1000: "1.0s", 4250: "4.2s", 59_999: "59.9s", 60_000: "1m00s", 83_000: "1m23s", 3_599_999: "59m59s", 7_500_000: "2h05m",
	} {
		if got := Duration(ms); got != want {
			t.Errorf("%d: got %s, want %s", ms, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for noun, want := range map[string]string{"job": "0 jobs, 1 job, 2 jobs", "directory": "0 directories, 1 directory, 2 directories", "entry": "0 entries, 1 entry, 2 entries", "day": "0 days, 1 day, 2 days"} {
		if got := Count(0, noun) + ", " + Count(1, noun) + ", " + Count(2, noun); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1536: "1.5 kB", 20e6: "20.0 MB", 3e9: "3.0 GB", 5e17: "500000.0 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
