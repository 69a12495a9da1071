package sandbox

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/millhand/millhand/internal/proc"
)

// ProxyEnv returns the environment variables for a proxy at an address. Common programs read
// some of them.
func (n Network) ProxyEnv(addr netip.AddrPort) []string {
	url := "http://" + addr.String()
	local := "localhost,.localhost,127.0.0.1,127.0.0.0/8,::1"
	if n.Loopback {
		local = ""
	}
	env := []string{
		"NODE_USE_ENV_PROXY=1",
		// npm, pip and yarn contact servers for purposes of their own, which looks like a need
		// of the job if it is denied.
		"npm_config_update_notifier=false", "PIP_DISABLE_PIP_VERSION_CHECK=1", "YARN_ENABLE_TELEMETRY=0",
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"} {
		env = append(env, name+"="+url)
	}
	return append(env, "NO_PROXY="+local, "no_proxy="+local)
}

// javaEnv returns the variables of build tools in Java, which read neither HOME nor the
// variables of ProxyEnv. The address is not valid without a network. Options that a command
// has already come last.
func (n Network) javaEnv(home string, addr netip.AddrPort, env []string) []string {
	var options string
	if !strings.ContainsAny(home, " \t\n\"'`$\\;&|<>()*?[") { // mvn and gradle split the text, each by rules of its own
		options = "-Duser.home=" + home
	}
	if addr.IsValid() {
		for _, scheme := range []string{"http", "https"} {
			options += fmt.Sprintf(" -D%s.proxyHost=%s -D%s.proxyPort=%d", scheme, addr.Addr(), scheme, addr.Port())
		}
		if n.Loopback {
			options += " -Dhttp.nonProxyHosts="
		}
		options += " -Djava.net.preferIPv4Stack=true -Daether.connector.http.useSystemProperties=true" // for level B, and for Maven 3.9, which ignores the others without it
	}
	set := []string{"GRADLE_OPTS=" + strings.TrimSpace(options+" "+proc.Value(env, "GRADLE_OPTS"))}
	for option := range strings.FieldsSeq(proc.Value(env, "MAVEN_ARGS")) { // which Maven before 3.9 doesn't read
		if strings.HasPrefix(option, "-Dmaven.repo.local=") {
			options += " " + option
		}
	}
	return append(set, "MAVEN_OPTS="+strings.TrimSpace(options+" "+proc.Value(env, "MAVEN_OPTS")))
}
