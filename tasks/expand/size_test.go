package expand

import (
	"testing"
	"time"

	"github.com/millhand/millhand/tasks"
)

func TestSizesOfLimits(t *testing.T) {
	for text, want := range map[string]int64{
		"1MB": 1e6, "500MB": 5e8, "8GB": 8e9, "1.5GB": 15e8, "2GiB": 2 << 30, "512MiB": 512 << 20, "1000kB": 1e6, "1000KB": 1e6, "1TiB": 1 << 40, `"8 GB"`: 8e9,
	} {
		p := mustLoad(t, head+"limits: {disk: "+text+"}\ntasks: [{id: a, prompt: p}]", tasks.Overrides{})
		if got := p.Jobs[0].Limits.Disk; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	p := mustLoad(t, head+"limits: {memory: 2GB, processes: 200}\ntasks: [{id: a, prompt: p, limits: {memory: 1GB}}, {id: b, prompt: p}]", tasks.Overrides{})
	want := tasks.Limits{Turns: 100, Time: time.Hour, Denials: 50, Failures: 50, Disk: 8e9, Memory: 1e9, Processes: 200}
	if p.Jobs[0].Limits != want || p.Jobs[1].Limits.Memory != 2e9 {
		t.Errorf("got %+v, %+v", p.Jobs[0].Limits, p.Jobs[1].Limits)
	}
}
