package scripts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cloudHosts are the hosts of clouds whose addresses a login can't change.
var cloudHosts = []string{
	"sts.googleapis.com", "iamcredentials.googleapis.com", "europe-west1-aiplatform.googleapis.com", "login.microsoftonline.com", "mine.openai.azure.com",
	"login.microsoftonline.us", "mine.openai.azure.us", "sts.cn-north-1.amazonaws.com.cn", "bedrock-runtime.cn-north-1.amazonaws.com.cn",
}

// cloudProxy serves the clouds of wire by the names of their hosts: it starts a proxy, and writes the certificate that
// programs have to trust to a file.
func cloudProxy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || ts.Getenv("CLOUD") == "" {
		ts.Fatalf("usage: cloud-proxy FILE, after wire")
	}
	to, err := url.Parse(ts.Getenv("CLOUD"))
	ts.Check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clouds"}, DNSNames: cloudHosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	ts.Check(err)
	file := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))

	hosts := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(to))
	hosts.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}
	hosts.StartTLS()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tunnel(w, r, hosts.Listener.Addr().String()) }))
	ts.Defer(func() {
		for _, s := range []*httptest.Server{hosts, proxy} {
			s.CloseClientConnections()
			s.Close()
		}
	})
	ts.Setenv("HTTPS_PROXY", proxy.URL)
	ts.Setenv("SSL_CERT_FILE", file)
}

// tunnel connects the client of a CONNECT request to an address.
func tunnel(w http.ResponseWriter, r *http.Request, addr string) {
	server, err := net.Dial("tcp", addr)
	if err != nil || r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	go func() { // ends when a connection is closed
		_, _ = io.Copy(server, buffered)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}
