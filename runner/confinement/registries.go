package confinement

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tasks"
)

// Setup describes what setup commands of a job get in addition to its other commands.
type Setup struct {
	Found    []ecosystem.Found // package managers of the workspace
	Settings ecosystem.Settings
	Profile  permission.Profile // limits the commands
	// Output is why the commands could run output of a model: they get neither registries
	// nor setup_env. "" if they could not.
	Output string
}

// NewSetup determines what setup commands get. The error has settings of the user that can't
// be read.
func NewSetup(spec tasks.Job, found []ecosystem.Found, output string, getenv func(string) string) (Setup, error) {
	settings, err := ecosystem.Configured(ecosystem.Names(found), getenv)
	settings.Hosts = append(settings.Hosts, ecosystem.WrapperHosts(found)...)
	u := Setup{Found: found, Settings: settings, Output: output}
	u.Profile = spec.Profile.ForSetup(settings.Hosts, output == "")
	if output != "" || !reachesRegistries(spec.Profile) {
		u.Settings.Dirs = nil
	}
	return u, err
}

// explained returns a network filter whose denials also have why setup commands have the network of the others, if they have.
func (u Setup) explained(allowed func(string, int, netip.Addr) error) func(string, int, netip.Addr) error {
	if u.Output == "" {
		return allowed
	}
	return func(host string, port int, ip netip.Addr) error {
		err := allowed(host, port, ip)
		if d := (*networkDenied)(nil); errors.As(err, &d) {
			return &networkDenied{reason: d.reason + "; setup commands have that of the others: " + u.Output, fix: d.fix}
		}
		return err
	}
}

// reachesRegistries reports whether a profile allows setup commands to reach registries, wherever
// they are.
func reachesRegistries(p permission.Profile) bool {
	const unknown = "registry.invalid"
	allowed, err := NetworkFilter(p.ForSetup([]string{unknown}, true), true)
	return err == nil && reachable(allowed, unknown)
}

// Hosts returns the hosts that the commands may reach, sorted; "*" for all public ones.
func (u Setup) Hosts() []string {
	allowed, err := NetworkFilter(u.Profile, true)
	if err != nil {
		return nil
	}
	var hosts []string
	for p := &u.Profile; p != nil; p = p.Max {
		if p.Network.Allow {
			hosts = append(hosts, "*")
		}
		hosts = append(hosts, reach.Expand(p.Network.Hosts)...)
	}
	slices.Sort(hosts)
	return slices.DeleteFunc(slices.Compact(hosts), func(entry string) bool { return !reachable(allowed, entry) })
}

// loopback reports whether a host that the commands may reach is on this machine.
func (u Setup) loopback() bool {
	return slices.ContainsFunc(slices.Concat(u.Settings.Hosts, u.Hosts()), func(entry string) bool {
		host, _, err := net.SplitHostPort(entry)
		if err != nil {
			host = strings.Trim(entry, "[]")
		}
		ip, noName := netip.ParseAddr(host)
		return host == "localhost" || noName == nil && ip.IsLoopback()
	})
}

// reachable reports whether an entry of a network has any host that is allowed.
func reachable(allowed func(string, int, netip.Addr) error, entry string) bool {
	name, port := entry, 443
	if entry == "*" {
		name = "any.example"
	}
	if at, err := netip.ParseAddrPort(entry); err == nil {
		name, port = at.Addr().String(), int(at.Port())
	} else if host, text, ok := strings.Cut(entry, ":"); ok && !strings.Contains(text, ":") {
		name = host
		fmt.Sscan(text, &port) //nolint:errcheck // the entry was parsed before
	}
	name = strings.Replace(strings.Trim(name, "[]"), "*.", "any.", 1)
	return allowed(name, port, netip.Addr{}) == nil
}

// cacheSettings returns the user's settings of registries for commands that only have caches:
// tools except Go look for what they downloaded by the registry that it came from. Setup
// reports settings that can't be read.
func cacheSettings(caches []share, getenv func(string) string) ecosystem.Settings {
	var names []string
	for _, s := range caches {
		if s.ecosystem != "go" {
			names = append(names, s.ecosystem)
		}
	}
	settings, _ := ecosystem.Configured(names, getenv)
	return settings
}

// UseRegistries gives setup commands, if they are confined, the user's settings of registries that they may reach.
func (c *Confinement) UseRegistries(u Setup, home string) error {
	if c.box == nil || len(u.Hosts())+len(u.Settings.Dirs) == 0 {
		return nil
	}
	return c.configure(home, u.Settings)
}

// configure gives commands settings of registries: variables, and files in their home
// directory.
func (c *Confinement) configure(home string, s ecosystem.Settings) error {
	c.Env = withSettings(c.Env, s.Env)
	if err := writeSettings(home, proc.Value(c.Env, "CARGO_HOME"), s.Files); err != nil {
		return fmt.Errorf("write the settings of package managers: %w", err)
	}
	return nil
}

// withSettings returns an environment with settings. Modules of a cache that is a directory for
// GOPROXY come first.
func withSettings(env, settings []string) []string {
	for _, kv := range settings {
		name, value, _ := strings.Cut(kv, "=")
		if cache, _, _ := strings.Cut(proc.Value(env, name), ","); name == "GOPROXY" && strings.HasPrefix(cache, "file://") {
			value = cache + "," + value
		}
		env = proc.Set(env, name, value)
	}
	return env
}

// writeSettings creates the files that do not exist in a private home directory, or that of
// Cargo if it is another, with the owner of the directory.
func writeSettings(home, cargo string, files map[string]string) error {
	for name, text := range files {
		dir := home
		if below, ok := strings.CutPrefix(name, ".cargo/"); ok && cargo != "" {
			dir, name = cargo, below
		}
		if err := writeSetting(dir, name, text); err != nil {
			return err
		}
	}
	return nil
}

func writeSetting(home, name, text string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	if dir := path.Dir(name); dir != "." {
		if err := root.Mkdir(dir, 0o700); err == nil {
			if err := owner.As(home, filepath.Join(home, dir)); err != nil {
				return err
			}
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close(), owner.As(home, filepath.Join(home, name)))
}
