package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"encoding/asn1"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
)

// Envelope returns a payload in an envelope of DSSE as JSON. Its signature is that of the key's
// algorithm and not of ssh: Ed25519, ECDSA with ASN.1, or RSA PKCS #1 v1.5 with SHA-256. It
// returns nil if the key can't make one: those of security tokens sign more than the message.
func (k *Key) Envelope(ctx context.Context, payloadType string, payload []byte) (text []byte, err error) {
	if k.with == nil {
		return nil, nil
	}
	err = k.with(ctx, func(s ssh.Signer) error {
		signer, err := dsse.NewEnvelopeSigner(envelopeKey{s.PublicKey(), s})
		if err != nil {
			return err
		}
		e, err := signer.SignPayload(ctx, payloadType, payload)
		if err == nil {
			text, err = encodeEnvelope(e)
		}
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return text, nil
}

func encodeEnvelope(e *dsse.Envelope) ([]byte, error) {
	text, err := json.Marshal(e)
	return append(text, '\n'), err
}

// VerifyEnvelope checks that an envelope has a payload, and one signature of the key that made
// the signature of ssh. Only the form that Envelope writes is valid, so that no byte of
// it can be changed.
func VerifyEnvelope(text []byte, payloadType string, payload, signature []byte) error {
	blob, err := parseSSH(signature)
	if err != nil {
		return err
	}
	key, err := ssh.ParsePublicKey([]byte(blob.Key))
	if err != nil {
		return fmt.Errorf("key of the signature: %w", err)
	}
	e := &dsse.Envelope{}
	if err := json.Unmarshal(text, e); err != nil {
		return fmt.Errorf("invalid envelope: %w", err)
	}
	if canonical, err := encodeEnvelope(e); err != nil || !bytes.Equal(canonical, text) || len(e.Signatures) != 1 || e.PayloadType != payloadType {
		return fmt.Errorf("invalid envelope: not one that millhand writes for a payload of type %s", payloadType)
	}
	verifier, err := dsse.NewEnvelopeVerifier(envelopeKey{key, nil})
	if err != nil {
		return err
	}
	_, got, err := verifier.VerifyAndDecode(context.Background(), e)
	if err != nil {
		return fmt.Errorf("invalid envelope: not signed by the key %s: %w", ssh.FingerprintSHA256(key), err)
	}
	if !bytes.Equal(got, payload) {
		return errors.New("the payload of the envelope differs from the signed file")
	}
	return nil
}

// envelopeKey is a key of ssh for envelopes; the signer is nil to verify.
type envelopeKey struct {
	key    ssh.PublicKey
	signer ssh.Signer
}

// KeyID returns the fingerprint of the key, as ssh-keygen -l prints it.
func (k envelopeKey) KeyID() (string, error) { return ssh.FingerprintSHA256(k.key), nil }

// Public returns the key; nil if it is not one of package crypto.
func (k envelopeKey) Public() crypto.PublicKey {
	if c, ok := k.key.(ssh.CryptoPublicKey); ok {
		return c.CryptoPublicKey()
	}
	return nil
}

// ecdsaSignature is a signature of ECDSA, in the forms of ssh and of ASN.1.
type ecdsaSignature struct{ R, S *big.Int }

// Sign returns the signature of data.
func (k envelopeKey) Sign(_ context.Context, data []byte) ([]byte, error) {
	switch k.key.Type() {
	case ssh.KeyAlgoED25519:
		made, err := k.signer.Sign(rand.Reader, data)
		if err != nil {
			return nil, err
		}
		return made.Blob, nil
	case ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521:
		made, err := k.signer.Sign(rand.Reader, data)
		if err != nil {
			return nil, err
		}
		var pair ecdsaSignature
		if err := ssh.Unmarshal(made.Blob, &pair); err != nil {
			return nil, err
		}
		return asn1.Marshal(pair)
	case ssh.KeyAlgoRSA:
		as, ok := k.signer.(ssh.AlgorithmSigner)
		if !ok {
			break
		}
		made, err := as.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA256)
		if err != nil {
			return nil, err
		}
		return made.Blob, nil
	}
	return nil, fmt.Errorf("envelope by a key of type %s: %w", k.key.Type(), errors.ErrUnsupported)
}

// Verify checks the signature of data.
func (k envelopeKey) Verify(_ context.Context, data, signature []byte) error {
	made := &ssh.Signature{Format: k.key.Type(), Blob: signature}
	switch k.key.Type() {
	case ssh.KeyAlgoRSA:
		made.Format = ssh.KeyAlgoRSASHA256
	case ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521:
		var pair ecdsaSignature
		if rest, err := asn1.Unmarshal(signature, &pair); err != nil || len(rest) > 0 {
			return errors.New("not a signature of ECDSA")
		}
		made.Blob = ssh.Marshal(pair)
	}
	return k.key.Verify(data, made)
}
