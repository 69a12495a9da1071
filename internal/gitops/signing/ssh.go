package signing

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// agentTimeout limits one signature of an agent, which may ask its user to confirm it.
const agentTimeout = 2 * time.Minute

// openSSH opens a private key, or selects the one of the agent that has the public key.
func (k *Key) openSSH(text string, getenv func(string) string) error {
	if strings.Contains(text, "PRIVATE KEY") {
		signer, err := parsePrivate([]byte(text), getenv(PassphraseVariable))
		if err != nil {
			return err
		}
		k.secret = text
		k.use(func(_ context.Context, use func(ssh.Signer) error) error { return use(signer) })
		return nil
	}
	var public ssh.PublicKey
	if text != "" {
		var err error
		if public, _, _, _, err = ssh.ParseAuthorizedKey([]byte(text)); err != nil { //nolint:dogsled // its results
			return fmt.Errorf("%s has neither a private nor a public key: %w", KeyVariable, err)
		}
	}
	socket := getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return errors.New("no key found: set " + KeyVariable + " to a private key, or SSH_AUTH_SOCK to the socket of an agent")
	}
	k.use(func(ctx context.Context, use func(ssh.Signer) error) error {
		return withAgent(ctx, socket, public, use)
	})
	return nil
}

// use sets how the key of ssh is used.
func (k *Key) use(with func(ctx context.Context, use func(ssh.Signer) error) error) {
	k.with = with
	k.sign = func(ctx context.Context, namespace string, message []byte) (signature string, err error) {
		err = with(ctx, func(s ssh.Signer) error {
			signature, err = signSSH(s, namespace, message)
			return err
		})
		return signature, err
	}
}

func parsePrivate(text []byte, passphrase string) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(text)
	var encrypted *ssh.PassphraseMissingError
	switch {
	case !errors.As(err, &encrypted):
		return signer, err
	case passphrase == "":
		return nil, errNoPassphrase
	}
	signer, err = ssh.ParsePrivateKeyWithPassphrase(text, []byte(passphrase))
	if errors.Is(err, x509.IncorrectPasswordError) {
		return nil, errWrongPassphrase
	}
	return signer, err
}

// withAgent connects for each signature, because an agent can be restarted during a run.
func withAgent(ctx context.Context, socket string, public ssh.PublicKey, use func(ssh.Signer) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, agentTimeout, fmt.Errorf("timed out after %s", agentTimeout))
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("ssh agent: %w", err)
	}
	defer conn.Close()                                      //nolint:errcheck // nothing is buffered
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // as above
	defer stop()
	signers, err := agent.NewClient(conn).Signers()
	if err == nil {
		var signer ssh.Signer
		if signer, err = choose(signers, public); err == nil {
			if err = use(signer); err == nil {
				return nil
			}
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("ssh agent: %w", err)
}

// choose returns the signer of a public key, or the only one if the key is nil.
func choose(signers []ssh.Signer, public ssh.PublicKey) (ssh.Signer, error) {
	switch {
	case public == nil && len(signers) == 1:
		return signers[0], nil
	case public == nil && len(signers) > 1:
		return nil, fmt.Errorf("it has %d keys: set %s to the public key to use", len(signers), KeyVariable)
	case public == nil:
		return nil, errors.New("it has no keys: add one with ssh-add")
	}
	for _, s := range signers {
		if bytes.Equal(s.PublicKey().Marshal(), public.Marshal()) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("it does not have the key %s: add it with ssh-add", ssh.FingerprintSHA256(public))
}

// The parts of OpenSSH's file PROTOCOL.sshsig.
const (
	sshMagic   = "SSHSIG"
	sshVersion = 1
	sshHash    = "sha512"

	gitNamespace = "git" // of commits
)

// signSSH returns a signature of a message as "ssh-keygen -Y sign -n NAMESPACE" does.
func signSSH(signer ssh.Signer, namespace string, message []byte) (string, error) {
	signed := signedText(namespace, message)
	var signature *ssh.Signature
	var err error
	if as, ok := signer.(ssh.AlgorithmSigner); ok && signer.PublicKey().Type() == ssh.KeyAlgoRSA {
		signature, err = as.SignWithAlgorithm(rand.Reader, signed, ssh.KeyAlgoRSASHA512) // the default is SHA-1, which is refused
	} else {
		signature, err = signer.Sign(rand.Reader, signed)
	}
	if err != nil {
		return "", err
	}
	return armored(sshBlob{sshVersion, string(signer.PublicKey().Marshal()), namespace, "", sshHash, string(ssh.Marshal(signature))}), nil
}

// sshBlob is a signature of ssh after its magic.
type sshBlob struct {
	Version                                   uint32
	Key, Namespace, Reserved, Hash, Signature string
}

// signedText returns what is signed for a message.
func signedText(namespace string, message []byte) []byte {
	hash := sha512.Sum512(message)
	return append([]byte(sshMagic), ssh.Marshal(struct{ Namespace, Reserved, Hash, Digest string }{namespace, "", sshHash, string(hash[:])})...)
}

// The first and the last line of a signature.
const (
	armorStart = "-----BEGIN SSH SIGNATURE-----\n"
	armorEnd   = "-----END SSH SIGNATURE-----\n"
)

// armored returns a signature as text, in lines of 70 characters.
func armored(blob sshBlob) string {
	var b strings.Builder
	b.WriteString(armorStart)
	for text := base64.StdEncoding.EncodeToString(append([]byte(sshMagic), ssh.Marshal(blob)...)); text != ""; {
		n := min(len(text), 70)
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	b.WriteString(armorEnd)
	return b.String()
}
