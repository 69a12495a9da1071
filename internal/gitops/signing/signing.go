package signing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Format is the format of a signature, as in git's gpg.format.
type Format string

// The supported formats.
const (
	SSH     Format = "ssh"
	OpenPGP Format = "openpgp"
)

// The variables that select and open the key.
const (
	// KeyVariable has the path or the text of a key: a private one, or the public one of
	// a key in the ssh agent.
	KeyVariable = "MILLHAND_SIGNING_KEY"
	// PassphraseVariable has the passphrase of the private key.
	PassphraseVariable = "MILLHAND_SIGNING_PASSPHRASE"
)

// Key signs commits. It is safe for concurrent use.
type Key struct {
	file   string // absolute, without symlinks; "" for none
	secret string // text of the private key; "" for one in an agent
	sign   func(ctx context.Context, namespace string, message []byte) (string, error)
	with   func(ctx context.Context, use func(ssh.Signer) error) error // nil unless the key is one of ssh
}

// Open opens the key that the environment selects, and makes a signature to check that it
// can: the passphrase fits, the key has not expired, the agent has it. The error contains
// the fix.
func Open(ctx context.Context, format Format, getenv func(string) string, now func() time.Time) (*Key, error) {
	k := &Key{}
	text, err := k.read(getenv(KeyVariable))
	if err != nil {
		return nil, err
	}
	switch format {
	case SSH:
		err = k.openSSH(text, getenv)
	case OpenPGP:
		err = k.openPGP(text, getenv(PassphraseVariable), now)
	default:
		err = fmt.Errorf("signatures of format %q are not supported", format)
	}
	if err == nil {
		_, err = k.Sign(ctx, []byte("test\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("%s key for signatures: %w", format, err)
	}
	return k, nil
}

// Sign returns the signature of a message, in the form that git stores in commits.
func (k *Key) Sign(ctx context.Context, message []byte) (string, error) {
	return k.SignAs(ctx, gitNamespace, message)
}

// SignAs returns the signature of a message for a purpose: a signature of ssh for one
// namespace is invalid in others.
func (k *Key) SignAs(ctx context.Context, namespace string, message []byte) (string, error) {
	signature, err := k.sign(ctx, namespace, message)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return signature, nil
}

// File returns the file of the private key, absolute and without symlinks; "" for none, or
// for a nil key.
func (k *Key) File() string {
	if k == nil || k.secret == "" {
		return ""
	}
	return k.file
}

// Secret returns the text of the private key; "" if it is in an agent, or for a nil key.
func (k *Key) Secret() string {
	if k == nil {
		return ""
	}
	return k.secret
}

// IsText reports whether the value of [KeyVariable] is a key rather than the path of one.
func IsText(value string) bool {
	value = strings.TrimSpace(value)
	for _, start := range []string{"-----BEGIN ", "ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"} {
		if strings.HasPrefix(value, start) && strings.ContainsAny(value, " \n") {
			return true
		}
	}
	return false
}

// read returns the text of the key. A file is read once: it may be a pipe.
func (k *Key) read(value string) (string, error) {
	if value == "" || IsText(value) {
		return value, nil
	}
	path, err := filepath.Abs(value)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("key for signatures: %w; %s must be the path or the text of a key", err, KeyVariable)
	}
	k.file = path
	return string(data), nil
}

// errPassphrase are the errors of encrypted keys.
var (
	errNoPassphrase    = errors.New("it is encrypted: set " + PassphraseVariable)
	errWrongPassphrase = errors.New(PassphraseVariable + " does not open it")
)
