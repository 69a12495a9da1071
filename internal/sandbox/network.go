package sandbox

// ProxyEnv returns the environment variables for a proxy at an address, HOST:PORT.
// Common programs read some of them.
func ProxyEnv(addr string) []string {
	url := "http://" + addr
	const local = "localhost,127.0.0.1,::1"
	env := []string{"NODE_USE_ENV_PROXY=1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		env = append(env, name+"="+url)
	}
	return append(env, "NO_PROXY="+local, "no_proxy="+local)
}
