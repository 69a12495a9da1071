package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/model"
)

// inGroups makes histories that group what stands between two responses and
// encode a group as the list of its texts. encoded counts the messages.
func inGroups() (h *Histories, encoded *int) {
	encoded = new(int)
	return &Histories{
		Group: func(list []model.Message) int {
			n := 1
			for list[0].Role != model.Assistant && n < len(list) && list[n].Role != model.Assistant {
				n++
			}
			return n
		},
		Encode: func(dst []byte, all []model.Message, from, to int) ([]byte, error) {
			*encoded += to - from
			var texts []string
			for _, m := range all[from:to] {
				texts = append(texts, string(m.Role)+m.Text)
			}
			data, err := json.Marshal(texts)
			return append(append(dst, ','), data...), err
		},
	}, encoded
}

func appended(t *testing.T, h *Histories, messages []model.Message) string {
	t.Helper()
	data, err := h.Append("", messages)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func message(role model.Role, text string) model.Message {
	return model.Message{Role: role, Text: text}
}

func TestAMessageIsEncodedOnce(t *testing.T) {
	h, encoded := inGroups()
	var messages []model.Message
	for i := range 50 {
		messages = append(messages, message(model.User, fmt.Sprint("q", i)), message(model.Assistant, fmt.Sprint("a", i)))
		want := `,["user` + fmt.Sprint("q", i) + `"],["assistant` + fmt.Sprint("a", i) + `"]`
		if got := appended(t, h, messages); !strings.HasSuffix(got, want) {
			t.Fatalf("got %s, want an end of %s", got, want)
		}
	}
	if *encoded != len(messages) {
		t.Errorf("%d messages were encoded, want %d", *encoded, len(messages))
	}
}

func TestGrownGroupIsReencoded(t *testing.T) {
	h, _ := inGroups()
	messages := []model.Message{message(model.User, "a"), message(model.ToolRole, "b")}
	first := appended(t, h, messages)
	if got, want := appended(t, h, append(messages, message(model.User, "c"))), `,["usera","toolb","userc"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := appended(t, h, messages); got != first {
		t.Errorf("got %s, want %s", got, first)
	}
}

// TestHistoriesEqualFreshEncoding has many conversations grow, fork and
// shrink at random, and compares with an encoding from scratch.
func TestHistoriesEqualFreshEncoding(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h, _ := inGroups()
	conversations := make([][]model.Message, 2*maxHistories)
	roles := []model.Role{model.User, model.Assistant, model.ToolRole}
	given := map[string]string{}
	for range 5000 {
		c := &conversations[random.IntN(len(conversations))]
		switch random.IntN(10) {
		case 0:
			*c = (*c)[:random.IntN(len(*c)+1)]
		case 1:
			*c = append([]model.Message(nil), conversations[random.IntN(len(conversations))]...)
		default:
			*c = append((*c)[:len(*c):len(*c)], message(roles[random.IntN(3)], fmt.Sprint(random.IntN(3))))
		}
		fresh, _ := inGroups()
		want, got := appended(t, fresh, *c), appended(t, h, *c)
		if got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		given[got] = strings.Clone(got)
	}
	for got, then := range given {
		if got != then {
			t.Fatalf("what was given out as %s has become %s", then, got)
		}
	}
	if len(h.list) > maxHistories {
		t.Errorf("%d histories are kept", len(h.list))
	}
}

func TestHistoriesAreSafeForConcurrentUse(t *testing.T) {
	h, _ := inGroups()
	var jobs sync.WaitGroup
	for job := range 16 {
		jobs.Go(func() {
			var messages []model.Message
			var want strings.Builder
			for i := range 100 {
				text := fmt.Sprint(job, ".", i)
				messages = append(messages, message(model.Assistant, text))
				want.WriteString(`,["assistant` + text + `"]`)
				if got, err := h.Append("", messages); err != nil || string(got) != want.String() {
					t.Errorf("error %v, got %s, want %s", err, got, want.String())
					return
				}
			}
		})
	}
	jobs.Wait()
}

func TestHistoriesAreBounded(t *testing.T) {
	h, _ := inGroups()
	long := strings.Repeat("x", maxHistory/4)
	for i := range 10 {
		appended(t, h, []model.Message{message(model.User, fmt.Sprint(i, long))})
	}
	size := 0
	for _, known := range h.list {
		size += len(known.encoded)
	}
	if size != h.size || size > maxHistory {
		t.Errorf("%d bytes are kept, counted as %d", size, h.size)
	}
}

func TestToolsAreEncodedOnceForAList(t *testing.T) {
	times := 0
	o := &Offers{Encode: func(specs []model.ToolSpec) ([]byte, error) {
		times++
		return []byte("," + specs[0].Name), nil
	}}
	lists := make([][]model.ToolSpec, 2*maxOffers)
	for i := range lists {
		lists[i] = []model.ToolSpec{{Name: fmt.Sprint(i)}, {Name: "more"}}
	}
	for range 3 {
		if got, err := o.Of(lists[0]); err != nil || string(got) != ",0" {
			t.Errorf("got %s, error %v", got, err)
		}
	}
	if got, err := o.Of(lists[0][:1]); err != nil || string(got) != ",0" || times != 2 {
		t.Errorf("got %s after %d encodings, error %v", got, times, err)
	}
	for i, list := range lists {
		if got, err := o.Of(list); err != nil || string(got) != fmt.Sprint(",", i) {
			t.Errorf("got %s, error %v", got, err)
		}
	}
	if len(o.list) > maxOffers {
		t.Errorf("%d lists are kept", len(o.list))
	}
	if got, err := o.Of(nil); got != nil || err != nil {
		t.Errorf("no tools are %s, error %v", got, err)
	}
}

func TestBodyConcatenatesItsChunks(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://model.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	Body{[]byte("ab"), nil, []byte("c")}.load(r)
	again, err := r.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []io.Reader{r.Body, again} {
		if got, err := io.ReadAll(body); err != nil || string(got) != "abc" || r.ContentLength != 3 {
			t.Errorf("got %q of %d bytes, error %v", got, r.ContentLength, err)
		}
	}
}

func TestTheLastTurns(t *testing.T) {
	h, _ := inGroups()
	u, a, r := message(model.User, ""), message(model.Assistant, ""), message(model.ToolRole, "")
	tests := []struct {
		messages []model.Message
		want     int
	}{
		{nil, 0},
		{[]model.Message{a}, 0},
		{[]model.Message{u}, 0},
		{[]model.Message{u, a, r, r}, 0},
		{[]model.Message{u, a, r, r, a, r}, 2},
		{[]model.Message{u, a, r, u, a, r, a, r, u, a}, 5},
	}
	for _, test := range tests {
		if got := LastTurns(test.messages, h.Group, 2); got != test.want {
			t.Errorf("%v: got %d, want %d", test.messages, got, test.want)
		}
	}
}

// FuzzEvents frames any bytes: the same events come however these arrive, and
// no event's data is empty.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "event: x\r\ndata:a\r\ndata: b\r\n\r\n", ": c\n\n\ndata", "data: a", "\n\n\ndata:\n\n", "data\ndata: x\n\n"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		at = min(max(at, 0), len(data))
		complete := framed(t, bytes.NewReader(data))
		halves := framed(t, io.MultiReader(bytes.NewReader(data[:at]), bytes.NewReader(data[at:])))
		if fmt.Sprint(complete) != fmt.Sprint(halves) {
			t.Errorf("got %q whole, %q in halves", complete, halves)
		}
	})
}

func framed(t *testing.T, r io.Reader) []string {
	t.Helper()
	var list []string
	e := newEvents(bufio.NewReader(r), 1<<30)
	for e.next() {
		if len(e.data) == 0 {
			t.Error("an event has no data")
		}
		list = append(list, e.kind+":"+string(e.data))
	}
	return list
}

// A session that is made shorter leaves nothing behind, and takes nothing from
// others that begin with the same words.
func TestOnlyTheLastConversationOfASessionIsKept(t *testing.T) {
	h := &Histories{
		Group: func([]model.Message) int { return 1 },
		Encode: func(dst []byte, all []model.Message, from, _ int) ([]byte, error) {
			return append(append(dst, ','), all[from].Text...), nil
		},
	}
	said := func(texts ...string) (list []model.Message) {
		for _, text := range texts {
			list = append(list, model.Message{Text: text})
		}
		return list
	}
	for _, step := range []struct {
		session  string
		messages []model.Message
		kept     int
	}{
		{"a", said("go", "long"), 1},
		{"b", said("go", "other"), 2},
		{"a", said("go", "long", "more"), 2},
		{"a", said("go", "short"), 2},
		{"a", said("go", "short", "more"), 2},
		{"b", said("go", "other", "more"), 2},
		{"", said("go", "nobody"), 3},
		{"", said("go", "else"), 4},
	} {
		got, err := h.Append(step.session, step.messages)
		var want strings.Builder
		for _, m := range step.messages {
			want.WriteString("," + m.Text)
		}
		if err != nil || string(got) != want.String() || len(h.list) != step.kept {
			t.Errorf("%s %v: %q, %v, and %d are kept; want %q and %d", step.session, step.messages, got, err, len(h.list), want.String(), step.kept)
		}
	}
	size := 0
	for _, k := range h.list {
		size += len(k.encoded)
	}
	if size != h.size {
		t.Errorf("%d bytes are kept, and it counts %d", size, h.size)
	}
}
