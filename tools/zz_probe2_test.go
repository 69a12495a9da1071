package tools

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/millhand/millhand/tools/shell"
)

func TestProbe2(t *testing.T) {
	for _, l := range []string{"cat ~root/y", "cd ~root && cat y", "cat ~/x", "cat ~+/a", "cat '~/x'", "cd ~ && cat y", "cd link/.. && cat x", "cd link/../y && cat x", "echo x > ~root/z", "x=1", "# c", "> f"} {
		a, err := shell.Analyze(l)
		fmt.Printf("%-20s %+v %v\n", l, a, err)
	}
	p := setUp(t, "full", nil)
	b, _ := json.MarshalIndent(BuiltIn().Offer(p.env.Profile), "", " ")
	fmt.Println(len(b), string(b))
}
