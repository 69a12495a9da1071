package prices

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/money"
)

//go:generate go run ./generate table.txt

var (
	//go:embed table.txt
	builtInTable string
	//go:embed models.txt
	ownTable string
)

// MaxAge is how old a table may be before it is called outdated.
const MaxAge = 60 * 24 * time.Hour

// Table has the prices and facts of models. It is safe for concurrent use.
type Table struct {
	Date    string // of the dataset: 2006-01-02
	Version string // of the dataset
	Cached  bool   // it is not the built-in one

	dataset rows
	own     rows
	listed  rows   // of a list that is asked for models without a price in the others
	newer   bool   // the own prices are newer than the dataset
	latest  string // date of the newest of them

	found sync.Map // what Of has returned, by the name: a plan asks for the same few models for each job
}

// found is what is known of a model; false for nothing.
type found struct {
	model Model
	known bool
}

// rows are the lines of a table by the names of their models.
type rows map[string]row

// row has the line of a name, and that of its versions or "".
type row struct{ exact, dated string }

// BuiltIn returns the table that is built in.
var BuiltIn = sync.OnceValue(func() *Table {
	t, err := read(builtInTable) // a test parses its rows
	if err != nil {
		return &Table{}
	}
	return t
})

// Parse reads a table in the form of package dataset. The built-in facts and prices
// are added to it.
func Parse(text string) (*Table, error) {
	t, err := read(text)
	if err != nil {
		return nil, err
	}
	for name, of := range t.dataset {
		if _, err := parsePrices(of.exact, 2); err != nil {
			return nil, fmt.Errorf("read the price of %s: %w", name, err)
		}
	}
	return t, nil
}

// read reads a table without parsing its rows.
func read(text string) (*Table, error) {
	head, body, _ := strings.Cut(text, "\n")
	words := strings.Fields(head)
	if len(words) != 3 || words[0] != "genai-prices" {
		return nil, fmt.Errorf("read the price table: it does not start with its version: %q", head)
	}
	if _, err := time.Parse(time.DateOnly, words[2]); err != nil {
		return nil, fmt.Errorf("read the date of the price table: %w", err)
	}
	t := &Table{Version: words[1], Date: words[2], dataset: index(body), own: index(ownTable)}
	ownDate, _, _ := strings.Cut(strings.TrimPrefix(ownTable, "# "), " ")
	t.newer, t.latest = ownDate > t.Date, max(ownDate, t.Date)
	return t, nil
}

// WithListed returns the table with rows of package dataset in the form of models.txt, after a line
// with their source and date. They count for models without a price: a list that others keep
// may have the ordinary price alone, without terms and hours.
func (t *Table) WithListed(text string) (*Table, error) {
	head, body, _ := strings.Cut(text, "\n")
	_, date, _ := strings.Cut(head, " ")
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return t, fmt.Errorf("read the list of prices: it does not start with its date: %q", head)
	}
	for line := range strings.Lines(body) {
		if !Valid(line) {
			return t, fmt.Errorf("read the list of prices: invalid row %q", line)
		}
	}
	return &Table{
		Date: t.Date, Version: t.Version, Cached: t.Cached, dataset: t.dataset, own: t.own, listed: index(body), newer: t.newer, latest: max(t.latest, date),
	}, nil
}

// Valid reports whether a row with facts and prices can be read.
func Valid(row string) bool {
	fields := strings.Fields(row)
	if len(fields) != 5 || !strings.Contains(fields[0], "/") {
		return false
	}
	for _, tokens := range fields[1:3] {
		if n, err := strconv.Atoi(tokens); err != nil || n < 0 {
			return false
		}
	}
	list, err := parsePrices(row, 4)
	return err == nil && len(list) > 0
}

// IsZero reports whether a price is 0.
func IsZero(price string) bool {
	usd, err := money.Parse(price)
	return err == nil && usd == 0
}

// Newest returns the newer one of the built-in table and another one, in the form of
// package dataset. A table that can't be read counts as none.
func Newest(text string) *Table {
	t, err := Parse(text)
	if err != nil || t.Date <= BuiltIn().Date {
		return BuiltIn()
	}
	t.Cached = true
	return t
}

// Latest is the date of the newest prices in the table: 2006-01-02.
func (t *Table) Latest() string { return t.latest }

// Age is how old the newest prices in the table are.
func (t *Table) Age(now time.Time) time.Duration {
	date, err := time.Parse(time.DateOnly, t.latest)
	if err != nil {
		return 0
	}
	return max(now.Sub(date), 0)
}

func index(text string) rows {
	r := make(rows, strings.Count(text, "\n")+strings.Count(text, "|"))
	for line := range strings.Lines(text) {
		id, facts, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "#") || !strings.Contains(strings.TrimSpace(facts), " ") {
			continue
		}
		provider, names, _ := strings.Cut(id, "/")
		for name := range strings.SplitSeq(names, "|") {
			name, dated := strings.CutSuffix(strings.ToLower(name), "*")
			key := provider + "/" + name
			of := r[key]
			if of.exact = line; dated {
				of.dated = line
			}
			r[key] = of
		}
	}
	return r
}

// version matches what may follow the name of a model without making it another
// model.
var version = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:-(?:latest|preview|exp|beta|customtools)|[-@](?:\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{3,4})|-v\d(?::\d)?)+$`)
})

// find returns the row of a model: by its name, or by that of which it is a version.
func (r rows) find(id string) (string, bool) {
	if of, ok := r[id]; ok {
		return of.exact, true
	}
	for from := 0; from < len(id); {
		at := version().FindStringIndex(id[from:])
		if at == nil {
			break
		}
		if of := r[id[:from+at[0]]]; of.dated != "" {
			return of.dated, true
		}
		from += at[0] + 1 // its start may belong to the name
	}
	return "", false
}

// Model is what is known of a model.
type Model struct {
	Context, MaxOutput int // tokens; 0 if unknown
	// Images and PDFs report whether the model sees such files, if Sees.
	Images, PDFs, Sees bool
	// Moving is set if the name stands for other models from time to time. Its price is
	// that of one of them.
	Moving bool
	// Maker is set if the price is that of the maker, for a model that a cloud serves.
	Maker bool

	money.Schedule // of its prices
}

// Highest returns the highest of the prices that may apply to requests of a model within a day; false if none is known.
func (t *Table) Highest(id string, at time.Time) (most money.Price, known bool) {
	of, _ := t.Of(id)
	all := of.Possible(at)
	for _, p := range all {
		if p.Output >= most.Output {
			most = p
		}
	}
	return most, len(all) > 0
}

// makers are the names in the table of those who make the models that OpenRouter
// serves.
var makers = map[string]string{"anthropic": "anthropic", "openai": "openai", "google": "google", "deepseek": "deepseek", "mistralai": "mistral", "x-ai": "xai"}

// relatives are the providers whose models Azure serves at their price.
var relatives = []string{"openai", "anthropic", "deepseek", "xai"}

// Of returns what is known of a model named provider/model; false if that is nothing.
func (t *Table) Of(id string) (Model, bool) {
	f, ok := t.found.Load(id)
	if !ok {
		m, known := t.search(id)
		f, _ = t.found.LoadOrStore(id, found{m, known})
	}
	result := f.(found)
	return result.model, result.known
}

func (t *Table) search(id string) (Model, bool) {
	provider, name, ok := strings.Cut(id, "/")
	if !ok {
		return Model{}, false
	}
	id = provider + "/" + strings.ToLower(name)
	m, known := t.of(id)
	switch provider {
	case "azure":
		for _, other := range relatives {
			if known {
				break
			}
			m, known = t.of(other + "/" + strings.ToLower(name))
		}
	case "bedrock", "vertex":
		if made := madeBy(provider, strings.ToLower(name)); made != "" && len(m.Schedule) == 0 {
			m, known = t.of(made)
			m.Maker = known
		}
	case "openrouter":
		maker, bare, _ := strings.Cut(name, "/")
		if same, ok := t.of(makers[maker] + "/" + strings.ToLower(bare)); ok && makers[maker] != "" {
			m.facts(same)
			known = true
		}
	}
	m.Moving = known && strings.HasSuffix(id, "-latest")
	return m, known
}

// of returns what the tables have of a model.
func (t *Table) of(id string) (m Model, known bool) {
	m, known = t.checked(id)
	row, ok := t.listed.find(id)
	if !ok || len(m.Schedule) > 0 {
		return m, known
	}
	fields := strings.Fields(row)
	other := factsIn(fields)
	other.facts(m)
	other.Schedule, _ = parsePrices(row, 4) // WithListed has read them
	return other, true
}

// factsIn returns the facts in a row: tokens of the window and of a response, and what the model sees.
func factsIn(fields []string) (m Model) {
	m.Context, _ = strconv.Atoi(fields[1])
	m.MaxOutput, _ = strconv.Atoi(fields[2])
	seen := strings.Split(fields[3], ",")
	m.Images, m.PDFs, m.Sees = slices.Contains(seen, "image"), slices.Contains(seen, "pdf"), true
	return m
}

// checked returns what the dataset and the own table have of a model.
func (t *Table) checked(id string) (m Model, known bool) {
	row, priced := t.dataset.find(id)
	own, described := t.own.find(id)
	exact := described // else own is of a model with the same price
	if priced {
		fields := strings.Fields(row)
		m.Context, _ = strconv.Atoi(fields[1])
		m.Schedule, _ = parsePrices(row, 2) // Parse has read them
		provider, names, _ := strings.Cut(fields[0], "/")
		for name := range strings.SplitSeq(names, "|") {
			if described {
				break
			}
			own, described = t.own.find(provider + "/" + strings.ToLower(strings.TrimSuffix(name, "*")))
		}
	}
	if !described {
		return m, priced
	}
	fields := strings.Fields(own)
	m.facts(factsIn(fields))
	if len(fields) > 4 && (t.newer || !priced) && exact {
		m.Schedule, _ = parsePrices(own, 4)
	}
	return m, true
}

// facts adds what is known of the same model elsewhere.
func (m *Model) facts(same Model) {
	if same.Context > 0 {
		m.Context = same.Context
	}
	if same.MaxOutput > 0 {
		m.MaxOutput = same.MaxOutput
	}
	if same.Sees {
		m.Images, m.PDFs, m.Sees = same.Images, same.PDFs, true
	}
}

// Names returns the names of the models whose prices are known, sorted: of several for
// the same model the first.
func (t *Table) Names() []string {
	names := map[string]bool{}
	for _, table := range []rows{t.dataset, t.own, t.listed} {
		for _, of := range table {
			name, _, _ := strings.Cut(strings.Fields(of.exact)[0], "|")
			names[strings.TrimSuffix(name, "*")] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool {
		m, _ := t.Of(name)
		return len(m.Schedule) == 0
	})
	return slices.Sorted(maps.Keys(names))
}

var conditionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:(\d{4}-\d\d-\d\d)|(\d\d:\d\d)-(\d\d:\d\d))@`) })

// parsePrices reads the prices in a row of a model; "unknown" means no price.
func parsePrices(row string, from int) (money.Schedule, error) {
	var list money.Schedule
	fields := strings.Fields(row)
	model := fields[0]
	for _, field := range fields[from:] {
		if field == "unknown" {
			return nil, nil
		}
		var c money.Dated
		if at := conditionForm().FindStringSubmatch(field); at != nil {
			c.From, c.Start, c.End = at[1], at[2], at[3]
			field = field[len(at[0]):]
		}
		for i, section := range strings.Split(field, ";") {
			from, rates := "0", section
			if i > 0 {
				from, rates, _ = strings.Cut(section, ":")
			}
			start, err := strconv.ParseInt(from, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("invalid tier %q", section)
			}
			r, err := parseRates(model, rates)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				c.Price.Rates = r
			} else {
				c.Price.Tiers = append(c.Price.Tiers, money.Tier{From: start, Rates: r})
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// parseRates reads INPUT,OUTPUT,CACHE_READ,CACHE_WRITE,CACHE_WRITE_1H. The prices of the
// cache may be missing.
func parseRates(model, text string) (money.Rates, error) {
	fields := strings.Split(text, ",")
	if len(fields) != 5 || fields[0] == "" || fields[1] == "" {
		return money.Rates{}, fmt.Errorf("invalid prices %q", text)
	}
	var r money.Rates
	for i, to := range []*money.USD{&r.Input, &r.Output, &r.CacheRead, &r.CacheWrite, &r.CacheWriteLong} {
		if i == 2 {
			r = Rates(model, r.Input, r.Output)
		}
		if fields[i] == "" {
			continue
		}
		usd, err := money.Parse(fields[i])
		if err != nil || usd < 0 {
			return money.Rates{}, fmt.Errorf("invalid price %q", fields[i])
		}
		*to = usd
	}
	return r, nil
}

// claude and surcharged match models whose providers charge more for writing to the
// cache than for input, whoever serves them: Anthropic's, and OpenAI's from gpt-5.6 on.
var (
	claude     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|[/.])claude`) })
	surcharged = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|/)gpt-(?:5[.-][6-9]|[6-9]|[1-9]\d)`) })
)

// Rates returns the rates of a model of which only the prices of input and output are
// known.
func Rates(model string, input, output money.USD) money.Rates {
	r := money.Rates{Input: input, Output: output, CacheRead: input, CacheWrite: input}
	if claude().MatchString(model) || surcharged().MatchString(model) {
		r.CacheWrite = input.Add((input + 3) / 4)
	}
	if claude().MatchString(model) {
		r.CacheWriteLong = input.Add(input)
	}
	return r
}
