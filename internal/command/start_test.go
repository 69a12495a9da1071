package command

import "testing"

func TestHeapsMayGrowToTheLeastSize(t *testing.T) {
	for live, want := range map[uint64]int{0: 200, 1 << 20: 200, 3 << 20: 166, 4 << 20: 100, 5 << 20: 100, 1 << 40: 100} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes may grow by %d %%, want %d", live, got, want)
		}
	}
}
