package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// sshUser is the default user; git hosts have one login for all.
const sshUser = "git"

// dialSSH starts a service by ssh.
func dialSSH(ctx context.Context, at Address, auth Auth, service string) (transport, error) {
	host := at.hostPort("22")
	config, agentConn, err := sshConfig(ctx, at, auth, host)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		closeAll(agentConn)
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	stop := context.AfterFunc(ctx, func() {
		closeAll(conn, agentConn) // which unblocks all readers
	})
	p := &pipes{said: &limitedBuffer{}, ended: make(chan struct{}), kill: func() {
		stop()
		closeAll(conn, agentConn)
	}}
	session, err := p.start(conn, host, config, service+" "+quoteForShell(at.Path))
	if err != nil {
		p.kill()
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = session.Wait() // the error is in its messages
	}()
	return p, nil
}

func closeAll(conns ...net.Conn) {
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// start logs in and starts a command.
func (p *pipes) start(conn net.Conn, host string, config *ssh.ClientConfig, command string) (*ssh.Session, error) {
	c, channels, requests, err := ssh.NewClientConn(conn, host, config)
	if err != nil {
		return nil, sshError(err, host)
	}
	session, err := ssh.NewClient(c, channels, requests).NewSession()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	session.Stderr = p.said
	if p.in, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = session.StdoutPipe(); err != nil {
		return nil, err
	}
	if strings.HasPrefix(command, uploadPack+" ") {
		_ = session.Setenv("GIT_PROTOCOL", wantVersion2) // a server that refuses it uses version 0
	}
	if err := session.Start(command); err != nil {
		return nil, fmt.Errorf("%w: start %s: %w", ErrUnreachable, command, err)
	}
	return session, nil
}

// sshError distinguishes an untrusted host, a failed login and a lost
// connection.
func sshError(err error, host string) error {
	var key *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &key) && len(key.Want) > 0:
		return fmt.Errorf("%w: host key of %s does not match the known_hosts file; "+
			"possible man-in-the-middle attack. If the key was rotated, update the known_hosts file", ErrAuth, host)
	case errors.As(err, &key):
		return fmt.Errorf("%w: host %s is not in the known_hosts file; "+
			"add its key (see ssh-keyscan) after verifying its fingerprint", ErrAuth, host)
	case errors.As(err, &revoked):
		return fmt.Errorf("%w: host key of %s is revoked", ErrAuth, host)
	case strings.Contains(err.Error(), "unable to authenticate"), strings.Contains(err.Error(), "no supported methods remain"):
		return fmt.Errorf("%w: %w", ErrAuth, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// sshConfig returns the user, its keys, and the accepted host keys. The
// connection is to the agent; nil without one.
func sshConfig(ctx context.Context, at Address, auth Auth, host string) (*ssh.ClientConfig, net.Conn, error) {
	config := &ssh.ClientConfig{User: at.user}
	if config.User == "" {
		config.User = sshUser
	}
	if err := trust(config, auth.KnownHosts, host); err != nil {
		return nil, nil, err
	}
	if auth.SSHKey != "" {
		signer, err := readKey(auth)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: ssh key %s: %w", ErrAuth, auth.SSHKey, err)
		}
		config.Auth = append(config.Auth, ssh.PublicKeys(signer))
		return config, nil, nil
	}
	if auth.SSHAgent == "" {
		return nil, nil, fmt.Errorf("%w: no ssh agent and no ssh key available", ErrAuth)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", auth.SSHAgent)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: ssh agent: %w", ErrAuth, err)
	}
	config.Auth = append(config.Auth, ssh.PublicKeysCallback(agent.NewClient(conn).Signers))
	return config, conn, nil
}

func readKey(auth Auth) (ssh.Signer, error) {
	data, err := os.ReadFile(auth.SSHKey)
	if err != nil {
		return nil, err
	}
	if auth.SSHPassphrase == "" {
		return ssh.ParsePrivateKey(data)
	}
	return ssh.ParsePrivateKeyWithPassphrase(data, []byte(auth.SSHPassphrase))
}

// trust verifies the host with its keys in the known_hosts file. It requests
// only the key types in the file, because a host has several.
func trust(config *ssh.ClientConfig, file, host string) error {
	if file == "" {
		return fmt.Errorf("%w: no known_hosts file configured, so the key of host %s can't be verified", ErrAuth, host)
	}
	check, err := knownhosts.New(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: known_hosts file %s not found, so the key of host %s can't be verified", ErrAuth, file, host)
	}
	if err != nil {
		return fmt.Errorf("%w: read known_hosts file: %w", ErrAuth, err)
	}
	config.HostKeyCallback = check
	var known *knownhosts.KeyError
	if errors.As(check(host, &net.TCPAddr{IP: net.IPv4zero}, noKey{}), &known) {
		for _, k := range known.Want {
			config.HostKeyAlgorithms = append(config.HostKeyAlgorithms, signatures(k.Key.Type())...)
		}
		slices.Sort(config.HostKeyAlgorithms)
		config.HostKeyAlgorithms = slices.Compact(config.HostKeyAlgorithms)
	}
	return nil
}

// signatures returns the signature algorithms of a key type.
func signatures(kind string) []string {
	if kind == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{kind}
}

// noKey is a key that matches no host, used to list a host's known keys.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.ErrUnsupported }

// quoteForShell quotes a text as one word for the remote shell.
func quoteForShell(text string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(text) + "'"
}
