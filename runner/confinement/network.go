package confinement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/sandbox/proxy"
	"github.com/millhand/millhand/internal/text/textcut"
)

// Limits of what commands make of denied attempts.
const (
	maxDenials = 50  // hosts with ports of a job that are reported
	maxNoted   = 5   // hosts with ports in the output of one command
	maxTarget  = 253 // length of a host name
	maxError   = 1000
)

// Switch closes the network of all sandboxes that share it, while commands run in them.
type Switch = proxy.Switch

// NewSwitch returns a Switch that is on.
func NewSwitch() *Switch { return proxy.NewSwitch() }

// network returns the network access: a proxy to the hosts of the profile. At level A a
// profile without network has a proxy, too, which denies every host: so the host and the
// fix can be reported. At B commands can't create sockets for it.
func (c *Confinement) network(ctx context.Context, g Env) (sandbox.Network, error) {
	allowed, err := NetworkFilter(g.Profile, g.Setup != nil && g.Setup.Output == "")
	if err == nil && g.Setup != nil {
		allowed = g.Setup.explained(allowed)
	}
	open := HasNetwork(g.Profile)
	if err != nil || !open && g.Level != sandbox.Full {
		return sandbox.Network{}, err
	}
	server := &proxy.Server{Allowed: allowed, Closed: !open, Switch: g.Switch, Record: func(a proxy.Attempt) {
		n := attempt(a)
		c.denials.record(n)
		g.Tell(n)
	}}
	network := sandbox.Network{Serve: server.Serve}
	if g.Setup != nil && open {
		network.Loopback = g.Setup.loopback()
	}
	if g.Level == sandbox.Full {
		return network, nil
	}
	if c.listen, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0"); err != nil {
		return network, fmt.Errorf("listen for the proxy: %w", err)
	}
	c.served = make(chan struct{})
	go func() { //nolint:contextcheck // ends when the listener is closed
		defer close(c.served)
		server.Serve(c.listen) //nolint:errcheck // always fails when the listener is closed
	}()
	network.Addr, err = netip.ParseAddrPort(c.listen.Addr().String())
	return network, err
}

// HasNetwork reports whether a profile and its maximum profiles have any network.
func HasNetwork(p permission.Profile) bool {
	return p.HasNetwork() && (p.Max == nil || HasNetwork(*p.Max))
}

// networkDenied is the error of a host that a profile does not allow.
type networkDenied struct{ reason, fix string }

func (e *networkDenied) Error() string { return e.reason }

// NetworkFilter returns the function that checks whether a profile and its maximum
// profiles allow a host. Its errors are networkDenied. Setup is whether the profile is one
// of setup commands, with another network than other commands.
func NetworkFilter(p permission.Profile, setup bool) (func(host string, port int, ip netip.Addr) error, error) {
	hosts, err := reach.Parse(p.Network.Hosts, p.Network.Allow)
	if err != nil || p.Max == nil {
		return func(host string, port int, ip netip.Addr) error {
			return withFix(p, setup, hosts.Allowed(host, port, ip), host)
		}, err
	}
	most, err := NetworkFilter(*p.Max, setup)
	limited := p.HasNetwork() && !HasNetwork(*p.Max) // whatever hosts the profile lists
	return func(host string, port int, ip netip.Addr) error {
		if err := withFix(p, setup, hosts.Allowed(host, port, ip), host); err != nil && !limited {
			return err
		}
		return limitedBy(p, most(host, port, ip))
	}, err
}

// limitedBy returns the reason of any error of the maximum profile; nil for nil.
func limitedBy(p permission.Profile, err error) error {
	if err == nil {
		return nil
	}
	return &networkDenied{reason: fmt.Sprintf("%s, which limits the profile %s: %v", p.Max.Name, p.Name, err)}
}

// withFix returns the reason and the fix of an error of [reach.Hosts]; nil for nil.
func withFix(p permission.Profile, setup bool, err error, host string) error {
	if err == nil {
		return nil
	}
	reason, lacks := err.Error(), []string{host}
	if d := (*reach.Denied)(nil); errors.As(err, &d) {
		lacks = d.Lacks
	}
	server, serves := strings.CutPrefix(p.Name, "mcp.")
	switch {
	case !p.HasNetwork() && serves:
		reason = fmt.Sprintf("MCP server %s has no network", server)
	case !p.HasNetwork() && setup:
		reason = fmt.Sprintf("setup commands of profile %q have no network", p.Name)
	case !p.HasNetwork():
		reason = fmt.Sprintf("profile %q has no network", p.Name)
	case setup:
		reason = strings.ReplaceAll(reason, "the profile's network", "the profile's setup_network")
	}
	return &networkDenied{reason, networkFix(p, setup, lacks)}
}

// networkFix returns what to write in the manifest, so that a profile has further hosts.
func networkFix(p permission.Profile, setup bool, hosts []string) string {
	if len(hosts) == 0 {
		return ""
	}
	key, n := "network", p.Network
	if setup && p.Setup != nil {
		key, n = "setup_network", *p.Setup
	}
	entries := slices.Concat(n.Hosts, hosts)
	for i, e := range entries {
		if strings.ContainsAny(e, ":*[") {
			entries[i] = strconv.Quote(e)
		}
	}
	line := key + ": [" + strings.Join(entries, ", ") + "]"
	switch {
	case n.Allow:
		return fmt.Sprintf("write a list with %s and the other hosts instead of %s: allow", strings.Join(entries, " and "), key)
	case strings.HasPrefix(p.Name, "mcp."):
		return fmt.Sprintf("write %s.%s", p.Name, line)
	case slices.Contains(permission.Presets(), p.Name):
		return fmt.Sprintf("add a profile with {extends: %s, %s}", p.Name, line)
	}
	return fmt.Sprintf("write in profile %s: %s", p.Name, line)
}

// attempt converts an attempt to an event. Its texts are the command's.
func attempt(a proxy.Attempt) event.Network {
	n := event.Network{Method: a.Method, Host: textcut.Head(a.Host, maxTarget, "..."), Port: a.Port, Denied: a.Denied, Error: textcut.Head(a.Err, maxError, "...")}
	if a.Addr.IsValid() {
		n.Addr = a.Addr.String()
	}
	if why := (*networkDenied)(nil); errors.As(a.Cause, &why) {
		n.Error, n.Fix = why.reason, why.fix
	}
	return n
}

// deniedHosts are the denied attempts of a confinement's commands.
type deniedHosts struct {
	mu      sync.Mutex
	watched []*[]event.Network // of each running command
}

// record adds an attempt to those of the running commands. Several commands that run in
// parallel share their attempts.
func (d *deniedHosts) record(n event.Network) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !n.Denied || n.Port == 0 { // not a host
		return
	}
	for _, w := range d.watched {
		same := func(o event.Network) bool { return o.Host == n.Host && o.Port == n.Port }
		if len(*w) <= maxNoted && !slices.ContainsFunc(*w, same) {
			*w = append(*w, n)
		}
	}
}

// watch returns the function that ends a command and returns the note about the attempts
// since then.
func (d *deniedHosts) watch() func() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := new([]event.Network)
	d.watched = append(d.watched, w)
	return func() string {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.watched = slices.DeleteFunc(d.watched, func(o *[]event.Network) bool { return o == w })
		return deniedNote(*w)
	}
}

// deniedNote returns the note for the readers of a command's output.
func deniedNote(list []event.Network) string {
	var b strings.Builder
	for i, n := range list {
		if i == maxNoted {
			b.WriteString("\n(network access denied to more hosts)")
			break
		}
		fmt.Fprintf(&b, "\n(%s)", n.Denial("the user can "))
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// DeniedOnce are the denied hosts, with ports, of a job.
type DeniedOnce struct {
	mu   sync.Mutex
	seen map[string]bool
}

// Once returns a function that passes on attempts: each that is not denied, and the first
// of each denied host and port, as long as there are few. Commands choose names and
// could fill the disk with them.
func (t *DeniedOnce) Once(tell func(event.Network)) func(event.Network) {
	return func(n event.Network) {
		t.mu.Lock()
		key := net.JoinHostPort(n.Host, strconv.Itoa(n.Port))
		known := t.seen[key] || len(t.seen) >= maxDenials
		if n.Denied && !known {
			if t.seen == nil {
				t.seen = map[string]bool{}
			}
			t.seen[key] = true
		}
		t.mu.Unlock()
		if !n.Denied || !known {
			tell(n)
		}
	}
}
