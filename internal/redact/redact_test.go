package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/redact"
)

const secret = `sk-Ab"12/+ 34=&xyz`

func TestASecretIsFoundInEveryForm(t *testing.T) {
	r := redact.New([]string{secret, "", "short", "another-secret-1"})
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	forms := []string{secret, hex.EncodeToString([]byte(secret)), url.QueryEscape(secret), string(quoted), "another-secret-1"}
	for i := range 7 {
		around := strings.Repeat("x", i) + secret + strings.Repeat("y", 6-i)
		forms = append(forms, base64.StdEncoding.EncodeToString([]byte(around)), base64.URLEncoding.EncodeToString([]byte(around)))
	}
	for _, f := range forms {
		text := "before " + f + " after"
		if !r.In(text) {
			t.Errorf("%q is not found", text)
		}
		got := r.Text(text)
		if r.In(got) || !strings.Contains(got, redact.Mark) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestOtherTextsStayAsTheyAre(t *testing.T) {
	r := redact.New([]string{secret})
	for _, text := range []string{"", "short", "sk-Ab", fmt.Sprintf("%x", "other"), strings.Repeat("A", 100)} {
		if got := r.Text(text); got != text || r.In(text) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if none := redact.New([]string{"", "x", "1234567"}); none.Text("1234567") != "1234567" || none.In("x") {
		t.Error("what is too short to be a secret is taken out")
	}
}

func FuzzText(f *testing.F) {
	f.Add("before " + secret + " after")
	f.Add(base64.StdEncoding.EncodeToString([]byte("xx" + secret)))
	r := redact.New([]string{secret})
	f.Fuzz(func(t *testing.T, text string) {
		if got := r.Text(text); strings.Contains(got, secret) {
			t.Errorf("%q is left in %q", secret, got)
		}
	})
}
