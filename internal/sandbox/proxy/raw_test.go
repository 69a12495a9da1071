package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Requests that a proxy and a server could read differently reach no other host, and a server gets no request that was
// not judged.
func TestAmbiguousRequestsReachNoOtherHost(t *testing.T) {
	var mu sync.Mutex
	var got strings.Builder
	var wait atomic.Int64 // for the end of a request, which a connection does not have
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(time.Duration(wait.Load())))
				text, _ := io.ReadAll(conn)
				mu.Lock()
				got.Write(text)
				mu.Unlock()
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}()
		}
	}()
	port := portOf(t, "http://"+ln.Addr().String())
	r := serve(t, &Server{Allowed: onlyLoopbackFor("good.example"), Lookup: toLoopback})
	good, evil := "good.example:"+port, "evil.example:"+port
	requests := []string{
		"GET http://" + good + "/ HTTP/1.1\r\nHost: " + evil + "\r\nHost: x\r\n\r\n",
		"POST http://" + good + "/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://" + evil + "/smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST http://" + good + "/b HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 50\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST http://" + good + "/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"POST http://" + good + "/d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"GET http://" + good + "/e HTTP/1.1\r\nHost: x\r\nX: a\rSmuggled: b\r\n\r\n",
		"GET http://" + good + "/f\tHTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://" + good + "@" + evil + "/smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://" + good + "#@" + evil + "/smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://" + good + "\\@" + evil + "/smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://" + evil + "%00." + good + "/smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://" + evil + "%23." + good + "/smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http:" + evil + "/smuggled HTTP/1.1\r\nHost: " + good + "\r\n\r\n",
		"GET http:///" + evil + "/smuggled HTTP/1.1\r\nHost: " + good + "\r\n\r\n",
		"GET //" + evil + "/smuggled HTTP/1.1\r\nHost: " + good + "\r\n\r\n",
		"GET HTTP://EVIL.example.:" + port + "/smuggled HTTP/1.1\r\nHost: " + good + "\r\n\r\n",
		"GET http://[::ffff:127.0.0.1]:" + port + "/smuggled HTTP/1.1\r\nHost: " + good + "\r\n\r\n",
		"GET http://[::1%25lo]:" + port + "/smuggled HTTP/1.1\r\nHost: " + good + "\r\n\r\n",
		"GET http://\uff11\uff12\uff17.0.0.1:" + port + "/smuggled HTTP/1.1\r\nHost: " + good + "\r\n\r\n",
		"GET http://127\u30020\u30020\u30021:" + port + "/smuggled HTTP/1.1\r\nHost: " + good + "\r\n\r\n",
		"CONNECT " + evil + " HTTP/1.1\r\nHost: " + good + "\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"CONNECT http://" + good + "/ HTTP/1.1\r\nHost: " + evil + "\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"CONNECT " + good + "@" + evil + " HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"CONNECT good.example:0" + port + "0 HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"CONNECT good.example:+" + port + " HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"CONNECT good.example: HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"CONNECT [good.example]:" + port + " HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"CONNECT good.example..:" + port + " HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nsmuggled",
		"GET http://" + good + "/g HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
	}
	const fine = "post /a http/1.1\r\nhost: good.example"
	text := ""
	for limit := 200 * time.Millisecond; limit < 2*time.Minute && !strings.Contains(text, fine); limit *= 4 { // a busy machine needs longer
		wait.Store(int64(limit))
		var asking sync.WaitGroup
		for _, raw := range requests {
			asking.Go(func() {
				conn, err := net.Dial("tcp", r.addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(limit * 5 / 2))
				fmt.Fprint(conn, raw)
				io.Copy(io.Discard, conn)
			})
		}
		asking.Wait()
		mu.Lock()
		text = strings.ToLower(got.String())
		mu.Unlock()
	}
	if strings.Contains(text, "smuggled") || strings.Contains(text, "evil") || !strings.Contains(text, fine) {
		t.Errorf("the server got %q", text)
	}
}

// A job that opens connections without end uses up its own only, and gets others when some have ended.
func TestConnectionsAreLimited(t *testing.T) {
	r := serve(t, &Server{Allowed: func(string, int, netip.Addr) error { return nil }, Lookup: toLoopback})
	ask := func(conn net.Conn) string {
		t.Helper()
		conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return line
	}
	dial := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	var open []net.Conn
	for range maxConnections {
		conn := dial()
		if line := ask(conn); !strings.Contains(line, " 400 ") {
			t.Fatalf("connection %d: %q", len(open), line)
		}
		open = append(open, conn)
	}
	if text, _ := io.ReadAll(dial()); !strings.Contains(string(text), "more than 512 connections") { // what is sent meanwhile can reset it
		t.Errorf("one more: %q", text)
	}
	open[0].Close()
	for deadline := time.Now().Add(time.Minute); ; {
		line := ask(dial())
		if strings.Contains(line, " 400 ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after one has ended: %q", line)
		}
	}
}
