package signing

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Signer is the key that made a signature, and who it belongs to.
type Signer struct {
	Key       string // fingerprint, as ssh-keygen -l prints it
	Principal string // of the allowed signers; "" without them
}

// VerifySSH checks a signature of ssh. The key must be in allowed, which may be nil for any key.
// at is when the signature was made: the validity of keys is checked for it.
func VerifySSH(namespace string, message, signature []byte, allowed *AllowedSigners, at time.Time) (Signer, error) {
	blob, err := parseSSH(signature)
	if err != nil {
		return Signer{}, err
	}
	key, err := ssh.ParsePublicKey([]byte(blob.Key))
	if err != nil {
		return Signer{}, fmt.Errorf("key of the signature: %w", err)
	}
	who := Signer{Key: ssh.FingerprintSHA256(key)}
	if blob.Namespace != namespace {
		return who, fmt.Errorf("the signature is for the namespace %q instead of %q", blob.Namespace, namespace)
	}
	var made ssh.Signature
	if err := ssh.Unmarshal([]byte(blob.Signature), &made); err != nil {
		return who, fmt.Errorf("invalid signature: %w", err)
	}
	if made.Format == ssh.KeyAlgoRSA { // SHA-1
		return who, errors.New("invalid signature: RSA with SHA-1")
	}
	if err := key.Verify(signedText(namespace, message), &made); err != nil {
		return who, fmt.Errorf("invalid signature of the key %s: %w", who.Key, err)
	}
	if allowed != nil {
		who.Principal, err = allowed.find(key, namespace, at)
	}
	return who, err
}

// parseSSH parses an armored signature. Only the form that this package and ssh-keygen write is
// valid, so that no byte of it can be changed.
func parseSSH(text []byte) (blob sshBlob, err error) {
	body, ok := bytes.CutPrefix(text, []byte(armorStart))
	if ok {
		body, ok = bytes.CutSuffix(body, []byte(armorEnd))
	}
	if !ok {
		return blob, errors.New("no signature of ssh")
	}
	data, err := base64.StdEncoding.DecodeString(string(body)) // ignores newlines
	if err == nil && !bytes.HasPrefix(data, []byte(sshMagic)) {
		err = errors.New("its start is not " + sshMagic)
	}
	if err == nil {
		err = ssh.Unmarshal(data[len(sshMagic):], &blob)
	}
	switch {
	case err != nil:
	case blob.Version != sshVersion:
		err = fmt.Errorf("its version is %d", blob.Version)
	case blob.Hash != sshHash:
		err = fmt.Errorf("its hash is %q instead of %s", blob.Hash, sshHash)
	case armored(blob) != string(text):
		err = errors.New("its encoding is not canonical")
	}
	if err != nil {
		return blob, fmt.Errorf("invalid signature of ssh: %w", err)
	}
	return blob, nil
}

// AllowedSigners are the keys of a file in the format of ssh-keygen's ALLOWED SIGNERS.
type AllowedSigners struct{ lines []allowedLine }

type allowedLine struct {
	principals    string
	key           ssh.PublicKey
	namespaces    []string // nil for any
	after, before time.Time
}

// ParseAllowedSigners parses a file of allowed signers. Errors have the number of the line.
// Lines of certificate authorities are not supported.
func ParseAllowedSigners(text []byte) (*AllowedSigners, error) {
	allowed := &AllowedSigners{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line := strings.TrimSpace(string(line))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		l, err := parseAllowed(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		allowed.lines = append(allowed.lines, l)
	}
	return allowed, nil
}

func parseAllowed(line string) (l allowedLine, err error) {
	rest := ""
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		l.principals, rest, ok = strings.Cut(quoted, `"`)
		if !ok {
			return l, errors.New("missing closing quote of the principals")
		}
	} else if at := strings.IndexAny(line, " \t"); at > 0 {
		l.principals, rest = line[:at], line[at:]
	}
	var options []string
	if l.key, _, options, _, err = ssh.ParseAuthorizedKey([]byte(strings.TrimSpace(rest))); err != nil {
		return l, fmt.Errorf("must be PRINCIPALS [OPTIONS] KEYTYPE KEY: %w", err)
	}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "namespaces":
			l.namespaces = strings.Split(value, ",")
		case "valid-after":
			l.after, err = parseStamp(value)
		case "valid-before":
			l.before, err = parseStamp(value)
		default:
			err = fmt.Errorf("option %q is not supported", name)
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// parseStamp parses a time as YYYYMMDD[Z] or YYYYMMDDHHMM[SS][Z]; without Z it is local.
func parseStamp(text string) (time.Time, error) {
	zone := time.Local
	digits, utc := strings.CutSuffix(text, "Z")
	if utc {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.ParseInLocation(layout, digits, zone); err == nil && len(digits) == len(layout) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q: must be YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS", text)
}

// find returns the principals of a key.
func (a *AllowedSigners) find(key ssh.PublicKey, namespace string, at time.Time) (string, error) {
	why := "is not an allowed signer"
	for _, l := range a.lines {
		switch {
		case !bytes.Equal(l.key.Marshal(), key.Marshal()):
		case l.namespaces != nil && !slices.ContainsFunc(l.namespaces, func(p string) bool { return matchesName(p, namespace) }):
			why = "is not an allowed signer for the namespace " + namespace
		case !l.after.IsZero() && at.Before(l.after) || !l.before.IsZero() && !at.Before(l.before):
			why = "was not an allowed signer at " + at.UTC().Format(time.RFC3339)
		default:
			return l.principals, nil
		}
	}
	return "", fmt.Errorf("the key %s of the signature %s", ssh.FingerprintSHA256(key), why)
}

// matchesName reports whether a name matches a pattern with the wildcards * and ?.
func matchesName(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
