package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/millhand/millhand/internal/money"
)

func TestDollars(t *testing.T) {
	for want, usd := range map[string]money.USD{
		"$0.00": 0, "$1234.50": 1_234_500_000_000, "$12.35": 12_345_001_000, "$1.00": money.Dollar, "$0.2500": 250_000_000, "$0.0123": 12_300_000, "$0.0010": 1_000_000,
		"$0.00042": 420_000, "$0.000012": 12_300, "$0.00000010": 100, "$0.0000000010": 1, "$-0.5000": -500_000_000,
	} {
		if got := dollars(&usd); got != want {
			t.Errorf("dollars(%v) = %s, want %s", usd, got, want)
		}
	}
	if got := dollars(nil); got != "unknown" {
		t.Errorf("dollars(nil) = %s", got)
	}
}

func TestDuration(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "0ms", 999: "999ms", 1000: "1.0s", 4250: "4.2s", 59_999: "59.9s", 60_000: "1m00s", 83_000: "1m23s", 3_599_999: "59m59s", 7_500_000: "2h05m",
	} {
		if got := duration(ms); got != want {
			t.Errorf("duration(%d) = %s, want %s", ms, got, want)
		}
	}
}

func TestTruncationKeepsCharacters(t *testing.T) {
	if got, want := head("aéé", 4), "aé… (2 more bytes in report.json)"; got != want {
		t.Errorf("head: %s, want %s", got, want)
	}
	if got, want := tail("ééa", 4), "(2 bytes before this in report.json) …éa"; got != want {
		t.Errorf("tail: %s, want %s", got, want)
	}
	if got := head("éé", 4) + tail("éé", 4); got != "éééé" {
		t.Errorf("a text that fits was cut: %s", got)
	}
}

func TestFenceIsLongerThanBackticksInTheText(t *testing.T) {
	for text, want := range map[string]string{
		"":            "```text\n\n```\n",
		"a\n\n":       "```text\na\n```\n",
		"```\n`````x": "``````text\n```\n`````x\n``````\n",
		"\r\n::a\n":   "```text\n\n: :a\n```\n",
	} {
		if got := fence(text); got != want {
			t.Errorf("fence(%q) = %q, want %q", text, got, want)
		}
	}
}

// Laying out changes nothing but white space and the form of strings.
func FuzzLayout(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":{"c":[[],{}]}}],"d":"\"\\\/\u0041\ud83d\ude00","":-1.50e+3}`))
	f.Add([]byte("\"\xff\\ud800\""))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return
		}
		var want any
		if json.Unmarshal(raw, &want) != nil {
			return // a number that Go can't hold
		}
		wantText, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for levels := range 4 {
			laid := layout(nil, compact.Bytes(), 0, levels)
			var got any
			if err := json.Unmarshal(laid, &got); err != nil {
				t.Fatalf("layout(%s) = %s: %v", raw, laid, err)
			}
			if gotText, err := json.Marshal(got); err != nil || !bytes.Equal(gotText, wantText) {
				t.Errorf("layout(%s) = %s", raw, laid)
			}
		}
	})
}
