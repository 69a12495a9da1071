package extension

import "testing"

func TestHeadersThatAreNotForPlugins(t *testing.T) {
	for name, want := range map[string]bool{
		"X-Team": false, "anthropic-beta": false, "traceparent": false, "x.y": false,
		"Authorization": true, "proxy-authorization": true, "X-API-Key": true, "api-key": true, "x-goog-api-key": true, "Cookie": true, "Set-Cookie": true,
		"X-Amz-Security-Token": true, "x-client-secret": true, "Helicone-Auth": true, "Host": true, "content-length": true, "Content-Type": true,
		"Transfer-Encoding": true, "proxy-connection": true, "Connection": true, "": true, "a b": true, "a:": true, "ä": true, "a\r\nb": true,
	} {
		if got := ownHeader(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
