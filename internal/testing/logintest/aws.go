package logintest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// sts issues credentials of the role for an OIDC token.
func (c *Clouds) sts(w http.ResponseWriter, r *http.Request) {
	err := r.ParseForm()
	switch {
	case err != nil:
	case r.Form.Get("Action") != "AssumeRoleWithWebIdentity" || r.Header.Get("Authorization") != "":
		err = fmt.Errorf("unexpected request of STS: %v", r.Form)
	case r.Form.Get("RoleArn") == ChinaRole:
		err = checkIDToken(r.Form.Get("WebIdentityToken"), "sts.amazonaws.com.cn")
	case r.Form.Get("RoleArn") != Role && r.Form.Get("RoleArn") != GovRole:
		err = fmt.Errorf("not authorized to assume %s", r.Form.Get("RoleArn"))
	default:
		err = checkIDToken(r.Form.Get("WebIdentityToken"), "sts.amazonaws.com")
	}
	type fault struct {
		XMLName xml.Name `xml:"ErrorResponse"`
		Type    string   `xml:"Error>Type"`
		Code    string   `xml:"Error>Code"`
		Message string   `xml:"Error>Message"`
	}
	w.Header().Set("Content-Type", "text/xml")
	if err != nil {
		c.note(err)
		w.WriteHeader(http.StatusForbidden)
		_ = xml.NewEncoder(w).Encode(fault{Type: "Sender", Code: "AccessDenied", Message: err.Error()}) // else the client is gone
		return
	}
	c.count("aws")
	type credentials struct {
		XMLName xml.Name  `xml:"AssumeRoleWithWebIdentityResponse"`
		ID      string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>AccessKeyId"`
		Secret  string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>SecretAccessKey"`
		Session string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>SessionToken"`
		Until   time.Time `xml:"AssumeRoleWithWebIdentityResult>Credentials>Expiration"`
	}
	_ = xml.NewEncoder(w).Encode(credentials{ID: AccessID, Secret: Secret, Session: Session, Until: time.Now().Add(time.Hour).UTC().Truncate(time.Second)})
}

// bedrock checks the signature of a request, and plays the model's response as AWS sends it.
func (c *Clouds) bedrock(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	if err := checkSignature(r, body); err != nil {
		c.refuse(w, http.StatusForbidden, err)
		return
	}
	model, call, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/model/"), "/")
	name, err := url.PathUnescape(model)
	if err != nil || call != "invoke-with-response-stream" {
		c.refuse(w, http.StatusNotFound, errors.New("unexpected path "+r.URL.EscapedPath()))
		return
	}
	sent, err := adapted(r, body, name, "bedrock-2023-05-31")
	if err != nil {
		c.refuse(w, http.StatusBadRequest, err)
		return
	}
	played := httptest.NewRecorder()
	c.Models.ServeHTTP(played, sent)
	if played.Code != http.StatusOK {
		w.WriteHeader(played.Code)
		_, _ = w.Write(played.Body.Bytes())
		return
	}
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	for event := range strings.SplitSeq(played.Body.String(), "\n\n") {
		if _, data, ok := strings.Cut(event, "data: "); ok {
			_, _ = w.Write(Message(data))
		}
	}
}

// Message returns an event of a response as AWS sends it.
func Message(data string) []byte {
	payload, _ := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString([]byte(data))}) // a map of strings
	return encode(payload, eventstreamapi.EventMessageType, eventstreamapi.EventTypeHeader, "chunk")
}

// Exception returns an error within a response as AWS sends it.
func Exception(kind, text string) []byte {
	payload, _ := json.Marshal(map[string]string{"message": text}) // a map of strings
	return encode(payload, eventstreamapi.ExceptionMessageType, eventstreamapi.ExceptionTypeHeader, kind)
}

func encode(payload []byte, kind, header, value string) []byte {
	m := eventstream.Message{Payload: payload}
	m.Headers.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(kind))
	m.Headers.Set(header, eventstream.StringValue(value))
	var out bytes.Buffer
	_ = eventstream.NewEncoder().Encode(&out, m) // to memory
	return out.Bytes()
}

// adapted returns the request of the maker's API that one of a cloud is.
func adapted(r *http.Request, body []byte, model, version string) (*http.Request, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	if got := string(fields["anthropic_version"]); got != `"`+version+`"` || fields["model"] != nil {
		return nil, fmt.Errorf("unexpected body: anthropic_version %s, model %s", got, fields["model"])
	}
	fields["model"], _ = json.Marshal(model)
	fields["stream"] = json.RawMessage("true")
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	sent := r.Clone(r.Context())
	sent.URL = &url.URL{Path: "/v1/messages"}
	if scheme, _, _ := strings.Cut(sent.Header.Get("Authorization"), " "); scheme != "Bearer" { // a signature is different each time
		sent.Header.Set("Authorization", scheme)
	}
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return sent, nil
}

// checkSignature makes the signature of a request again, of the headers that were signed. A key that
// is a bearer token has none.
func checkSignature(r *http.Request, body []byte) error {
	got := r.Header.Get("Authorization")
	if strings.HasPrefix(got, "Bearer ") {
		return nil
	}
	credential, rest, _ := strings.Cut(strings.TrimPrefix(got, "AWS4-HMAC-SHA256 Credential="), ", SignedHeaders=")
	names, _, _ := strings.Cut(rest, ", Signature=")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	scope := strings.Split(credential, "/")
	if err != nil || len(scope) != 5 || scope[0] != AccessID || scope[3] != "bedrock" {
		return fmt.Errorf("the request is not signed: %q", got)
	}
	if at.Before(time.Now().Add(-5*time.Minute)) || at.After(time.Now().Add(5*time.Minute)) {
		return errors.New("the signature has expired")
	}
	if r.Header.Get("X-Amz-Security-Token") != Session {
		return errors.New("the security token included in the request is invalid")
	}
	again := r.Clone(r.Context())
	again.Header = http.Header{}
	again.URL.Host = r.Host
	for name := range strings.SplitSeq(names, ";") {
		if values := r.Header.Values(name); len(values) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	for _, name := range []string{"host", "x-amz-date", "x-amz-security-token"} {
		if !strings.Contains(";"+names+";", ";"+name+";") {
			return fmt.Errorf("the header %s is not signed", name)
		}
	}
	hash := sha256.Sum256(body)
	secrets := aws.Credentials{AccessKeyID: AccessID, SecretAccessKey: Secret, SessionToken: Session}
	if err := v4.NewSigner().SignHTTP(r.Context(), secrets, again, hex.EncodeToString(hash[:]), scope[3], scope[2], at); err != nil {
		return err
	}
	if want := again.Header.Get("Authorization"); got != want {
		return fmt.Errorf("the signature does not match: got %s, want %s", got, want)
	}
	return nil
}
