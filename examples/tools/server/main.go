// Server is what the web tools of this example talk to: a page, and a search
// service that answers in plain JSON.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8471", "`address` to serve at")
	told := flag.String("tell", "", "`file` to write the address to, once it is served")
	flag.Parse()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", *listen)
	if err == nil && *told != "" {
		err = os.WriteFile(*told, []byte(listener.Addr().String()+"\n"), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintln(w, "<html><body><h1>The house</h1><p>It was <b>built</b> long ago.</p></body></html>")
	})
	mux.HandleFunc("POST /search", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // whatever is asked, the answer is the same
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"results": [{"title": "The house", "url": "http://house.example/", "text": "The house was founded in 2026."}]}`)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}
