package gittest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// ErrNoSSH is the error of a machine without a usable sshd.
var ErrNoSSH = errors.New("sshd not available")

const sshProgram = "/usr/sbin/sshd" // it refuses to be started by a relative path

// SSHServer is an sshd on loopback that lets the current user in, with the keys of a directory:
//
//	host           the server's own
//	user, locked   accepted; locked has the passphrase "a passphrase"
//	stranger       refused
//	known          the known_hosts file
type SSHServer struct {
	URL string // ssh://USER@HOST:PORT, before an absolute path

	listener net.Listener
	serving  sync.WaitGroup
}

// ServeSSH starts a server with new keys in an empty directory. The error is [ErrNoSSH] if
// the machine has none.
func ServeSSH(ctx context.Context, dir string, log io.Writer) (*SSHServer, error) {
	if _, err := os.Stat(sshProgram); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSSH, err)
	}
	public := map[string][]byte{}
	for name, passphrase := range map[string]string{"host": "", "user": "", "locked": "a passphrase", "stranger": ""} {
		file := filepath.Join(dir, name)
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", file).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: ssh-keygen: %w %s", ErrNoSSH, err, out)
		}
		key, err := os.ReadFile(file + ".pub")
		if err != nil {
			return nil, err
		}
		public[name] = key
	}
	config := filepath.Join(dir, "config")
	text := fmt.Sprintf("HostKey %[1]s/host\nAuthorizedKeysFile %[1]s/allowed\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nAcceptEnv GIT_PROTOCOL\n", dir)
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "allowed"), append(public["user"], public["locked"]...), 0o600),
		os.WriteFile(config, []byte(text), 0o600))
	if err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, sshProgram, "-t", "-f", config).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %w %s", ErrNoSSH, err, out)
	}
	user, err := exec.CommandContext(ctx, "id", "-un").Output()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().(*net.TCPAddr)
	known := fmt.Appendf(nil, "[127.0.0.1]:%d %s", address.Port, public["host"])
	if err := os.WriteFile(filepath.Join(dir, "known"), known, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &SSHServer{URL: "ssh://" + strings.TrimSpace(string(user)) + "@" + address.String(), listener: listener}
	s.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.serving.Go(func() { serveSSH(ctx, conn, config, log) })
		}
	})
	return s, nil
}

// Close ends the server and waits for its connections.
func (s *SSHServer) Close() {
	_ = s.listener.Close()
	s.serving.Wait()
}

// serveSSH lets an sshd have one connection, as inetd would, and waits for its end.
func serveSSH(ctx context.Context, conn net.Conn, config string, log io.Writer) {
	defer conn.Close() //nolint:errcheck // closed twice
	f, err := conn.(*net.TCPConn).File()
	if err != nil {
		return
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, sshProgram, "-i", "-e", "-f", config)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f, f, log
	_ = conn.Close() // sshd has its own handle
	_ = cmd.Run()
}
