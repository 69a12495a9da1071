package telemetry_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/millhand/millhand/internal/testing/telemetrytest"
)

// issue writes a certificate and its key to NAME.pem and NAME.key; issued by itself without a parent.
func issue(t *testing.T, dir, name string, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true, IsCA: parent == nil, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	by := &tls.Certificate{Leaf: template, PrivateKey: key}
	if parent != nil {
		by = parent
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.Leaf, key.Public(), by.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for end, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name+end), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return &made
}

// A collector may have a certificate of a private authority, and require one of the client.
func TestACollectorMayRequireACertificateOfTheClient(t *testing.T) {
	dir := t.TempDir()
	ca := issue(t, dir, "ca", nil)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	issue(t, dir, "client", ca)
	config := &tls.Config{Certificates: []tls.Certificate{*issue(t, dir, "server", ca)}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		c := &telemetrytest.Collector{}
		address := ""
		if protocol == "grpc" {
			address = strings.Replace(serveGRPC(t, c, grpc.Creds(credentials.NewTLS(config))), "http:", "https:", 1)
		} else {
			s := httptest.NewUnstartedServer(c)
			s.TLS, s.Config.ErrorLog = config, log.New(io.Discard, "", 0)
			s.StartTLS()
			defer s.Close()
			address = s.URL
		}
		list := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + address, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol}
		authority := append(list, "OTEL_EXPORTER_OTLP_CERTIFICATE="+filepath.Join(dir, "ca.pem"))
		both := append(authority, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE="+filepath.Join(dir, "client.pem"), "OTEL_EXPORTER_OTLP_CLIENT_KEY="+filepath.Join(dir, "client.key"))
		if warning := export(t, time.Minute, list...); !strings.Contains(warning, "certificate signed by unknown authority") {
			t.Errorf("%s, without the authority: %q", protocol, warning)
		}
		if warning := export(t, time.Minute, authority...); !strings.Contains(warning, "3 requests not accepted") || c.Requests() > 0 {
			t.Errorf("%s, without a certificate of the client: %q", protocol, warning)
		}
		if warning := export(t, time.Minute, both...); warning != "" || len(c.Spans()) != 14 || len(c.Metrics()) == 0 {
			t.Errorf("%s: %q, %d spans", protocol, warning, len(c.Spans()))
		}
	}
}
