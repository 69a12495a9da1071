package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
)

const testType = "application/vnd.in-toto+json"

// The signatures of envelopes are those that other programs verify by the public key, and no byte can be changed.
func TestEnvelopesAreVerifiedByThePublicKey(t *testing.T) {
	message := []byte(`{"_type":"https://in-toto.io/Statement/v1"}`)
	all := signers(t)
	for name, s := range all {
		k := &Key{}
		k.use(func(_ context.Context, use func(ssh.Signer) error) error { return use(s) })
		text, err := k.Envelope(t.Context(), testType, message)
		if err != nil {
			t.Fatal(err)
		}
		e := &dsse.Envelope{}
		if err := json.Unmarshal(text, e); err != nil {
			t.Fatal(err)
		}
		made, err := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
		if err != nil {
			t.Fatal(err)
		}
		signed := dsse.PAE(testType, message)
		hash := sha256.Sum256(signed)
		valid := false
		switch public := s.PublicKey().(ssh.CryptoPublicKey).CryptoPublicKey().(type) {
		case ed25519.PublicKey:
			valid = ed25519.Verify(public, signed, made)
		case *ecdsa.PublicKey:
			valid = ecdsa.VerifyASN1(public, hash[:], made)
		case *rsa.PublicKey:
			valid = rsa.VerifyPKCS1v15(public, crypto.SHA256, hash[:], made) == nil
		}
		if !valid {
			t.Errorf("%s: the signature is invalid for package crypto", name)
		}

		signature, err := signSSH(s, "evidence", message)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyEnvelope(text, testType, message, []byte(signature)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := VerifyEnvelope(text, testType, append(message, ' '), []byte(signature)); err == nil {
			t.Errorf("%s: the envelope fits another message", name)
		}
		for at := range text {
			changed := bytes.Clone(text)
			changed[at] ^= 1
			if err := VerifyEnvelope(changed, testType, message, []byte(signature)); err == nil && !cmp.Equal(signatures(t, text), signatures(t, changed)) { // base64 may have unused bits
				t.Errorf("%s: byte %d of the envelope can be changed", name, at)
			}
		}
		for other, signer := range all {
			if other == name {
				continue
			}
			if signature, err = signSSH(signer, "evidence", message); err != nil {
				t.Fatal(err)
			}
			if err := VerifyEnvelope(text, testType, message, []byte(signature)); err == nil {
				t.Errorf("%s: the envelope fits the key %s", name, other)
			}
		}
	}
}

// signatures returns the decoded signatures of an envelope.
func signatures(t *testing.T, text []byte) (all [][]byte) {
	t.Helper()
	var e dsse.Envelope
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	for _, s := range e.Signatures {
		raw, err := base64.StdEncoding.DecodeString(s.Sig)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
	return all
}
