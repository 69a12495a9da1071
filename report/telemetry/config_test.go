package telemetry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/report/telemetry"
)

// variables returns a function that reads a list of NAME=value.
func variables(list ...string) func(string) string {
	return func(name string) string {
		for _, kv := range list {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// Invalid variables are ignored with a warning that does not have their value.
func TestInvalidVariables(t *testing.T) {
	for _, test := range []struct {
		variable, want string
		nothing        bool
	}{
		{"OTEL_EXPORTER_OTLP_ENDPOINT=user:SECRET@host", "not an http or https URL", true},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://%SECRET", "not an http or https URL", true},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=SECRET:4317", "not an http or https URL", true},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=http/SECRET", "supported are http/protobuf, http/json and grpc", false},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=json", "supported are http/protobuf", false},
		{"OTEL_EXPORTER_OTLP_TIMEOUT=10s", "not a number of milliseconds", false},
		{"OTEL_EXPORTER_OTLP_TIMEOUT=-1", "not a number of milliseconds", false},
		{"OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "supported are gzip and none", false},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE=/none/ca.pem", "open /none/ca.pem: no such file or directory", false},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE=config_test.go", "config_test.go has no certificate in PEM", false},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/none/c.pem", "with OTEL_EXPORTER_OTLP_CLIENT_KEY: open /none/c.pem: no such file or directory", false},
		{"OTEL_TRACES_SAMPLER=SECRET", "supported are always_on, always_off", false},
		{"OTEL_EXPORTER_OTLP_HEADERS=SECRET", "not a list of KEY=VALUE", false},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=%SECRET", "not a list of KEY=VALUE", false},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=%0aSECRET", "not a list of HTTP headers", false},
		{"OTEL_EXPORTER_OTLP_HEADERS=a b=SECRET", "not a list of HTTP headers", false},
		{"OTEL_RESOURCE_ATTRIBUTES=SECRET", "not a list of KEY=VALUE", false},
		{"OTEL_TRACES_EXPORTER=jaeger", "supported are otlp and none", false},
		{"TRACEPARENT=SECRET", "not a W3C traceparent", false},
		{"TRACEPARENT=00-00000000000000000000000000000000-b7ad6b7169203331-01", "not a W3C traceparent", false},
		{"TRACEPARENT=00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "not a W3C traceparent", false},
		{"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "not a W3C traceparent", false},
	} {
		name, _, _ := strings.Cut(test.variable, "=")
		c, warnings := telemetry.ReadConfig(variables(test.variable, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"))
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], name+" is ignored: "+test.want) || strings.Contains(warnings[0], "SECRET") {
			t.Errorf("%s: %q", test.variable, warnings)
		}
		if (c == nil) != test.nothing {
			t.Errorf("%s: %v", test.variable, c)
		}
	}
}

// With gRPC an endpoint may be a target without a scheme, over TLS unless OTEL_EXPORTER_OTLP_INSECURE is set.
func TestATargetOfGRPCNeedsNoScheme(t *testing.T) {
	for target, valid := range map[string]bool{
		"collector:4317": true, "unix:///run/otel.sock": true, "dns:///collector:4317": true, "https://collector": true,
		"collector": false, "ftp://collector": false, "http://": false, "": false,
	} {
		c, warnings := telemetry.ReadConfig(variables("OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_ENDPOINT="+target))
		if (c != nil) != valid || (len(warnings) == 0) != (valid || target == "") {
			t.Errorf("%s: %v %q", target, c, warnings)
		}
	}
}

func TestHeadersOfAllSignalsAreFound(t *testing.T) {
	c, _ := telemetry.ReadConfig(variables("OTEL_EXPORTER_OTLP_ENDPOINT=http://h", "OTEL_EXPORTER_OTLP_HEADERS=a=1", "OTEL_EXPORTER_OTLP_METRICS_HEADERS=b=2"))
	got := c.Headers()
	if want := [][2]string{{"A", "1"}, {"B", "2"}}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := (*telemetry.Config)(nil).Headers(); got != nil {
		t.Errorf("%q", got)
	}
}
