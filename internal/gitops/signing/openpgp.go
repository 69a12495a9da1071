package signing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// openPGP opens an armored private key.
func (k *Key) openPGP(text, passphrase string, now func() time.Time) error {
	if text == "" {
		return errors.New("no key found: set " + KeyVariable + " to the path or the text of an armored private key, as gpg --armor --export-secret-keys prints it")
	}
	entity, err := readEntity(text)
	if err != nil {
		return err
	}
	key, ok := entity.SigningKey(now())
	switch {
	case !ok:
		return errors.New("it can't sign: it has expired, was revoked, or is not for signatures")
	case key.PrivateKey == nil || key.PrivateKey.Dummy():
		return fmt.Errorf("the private key %s, which signs, is missing: export it with gpg --armor --export-secret-keys", key.PublicKey.KeyIdString())
	case key.PrivateKey.Encrypted && passphrase == "":
		return errNoPassphrase
	case key.PrivateKey.Encrypted && key.PrivateKey.Decrypt([]byte(passphrase)) != nil:
		return errWrongPassphrase
	}
	k.secret = text
	k.sign = func(_ context.Context, _ string, message []byte) (string, error) {
		var out bytes.Buffer
		err := openpgp.ArmoredDetachSign(&out, entity, bytes.NewReader(message), &packet.Config{Time: now})
		return out.String() + "\n", err
	}
	return nil
}

// readEntity returns the only private key of a text.
func readEntity(text string) (*openpgp.Entity, error) {
	list, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s has no armored OpenPGP key: %w", KeyVariable, err)
	}
	var private []*openpgp.Entity
	for _, e := range list {
		if e.PrivateKey != nil {
			private = append(private, e)
		}
	}
	if len(private) != 1 {
		return nil, fmt.Errorf("%s has %d private OpenPGP keys: export exactly one with gpg --armor --export-secret-keys", KeyVariable, len(private))
	}
	return private[0], nil
}
