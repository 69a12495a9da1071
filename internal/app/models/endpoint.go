package models

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
)

// checkEndpoint checks an address of a provider from the environment.
func checkEndpoint(set policy.Set, variable, address string) error {
	if address == "" {
		return nil
	}
	host := EndpointHost(address)
	if by, refused := set.Own().Refuses(policy.Hosts, host); refused {
		return fmt.Errorf("%s: host %q not allowed by %s", variable, host, by.By())
	}
	return nil
}

// EndpointHost returns the host of an address, with its port if present; "" if the
// address is invalid.
func EndpointHost(address string) string {
	if !strings.Contains(address, "://") { // as OLLAMA_HOST may be
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
