package permission

import "testing"

func BenchmarkDecide(b *testing.B) {
	profile, _ := Preset("build")
	ceiling, _ := Preset("full")
	profile.Max = &ceiling
	requests := []Request{Need("bash", "go test ./..."), Need("read", "internal/a/b.go", "/work/internal/a/b.go"), Need("edit", ".git/config", "/work/.git/config")}
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range requests {
			profile.Decide(r)
		}
	}
}

func BenchmarkLocker(b *testing.B) {
	build, _ := Preset("build")
	locks := build.Locker()
	b.ReportAllocs()
	for b.Loop() {
		locks(false, "src/order/parcel/order1060.go", "/work/src/order/parcel/order1060.go")
	}
}
