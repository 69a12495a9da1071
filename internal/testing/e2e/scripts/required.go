package scripts

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission/reach"
)

// required returns the programs that must be on PATH, and their registries reachable, so that
// no script that needs them is skipped: those that MILLHAND_REQUIRE names, separated by commas.
func required() []string {
	return strings.FieldsFunc(os.Getenv("MILLHAND_REQUIRE"), func(r rune) bool { return r == ',' })
}

// checkRequired fails a test if a required program is missing.
func checkRequired(t *testing.T) {
	t.Helper()
	for _, program := range required() {
		if _, err := exec.LookPath(program); err != nil {
			t.Errorf("MILLHAND_REQUIRE: %v", err)
		}
	}
}

// reached reports whether a request to the registry of a program succeeds. It is an error if
// the program is required.
func reached(program string, request *exec.Cmd) (bool, error) {
	out, err := request.CombinedOutput()
	if err != nil && slices.Contains(required(), program) {
		return false, fmt.Errorf("MILLHAND_REQUIRE names %s, whose registry can't be reached: %w: %s", program, err, out)
	}
	return err == nil, nil
}

// public reports whether a host has only addresses that "network" of a manifest allows by the name
// of a host group.
func public(ctx context.Context, host string) bool {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return err == nil && !slices.ContainsFunc(found, func(a netip.Addr) bool { return !reach.Public(a) })
}
