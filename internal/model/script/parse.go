package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// Parse reads a script. name is the file's, for messages. All problems are
// reported together, each with its position as name:line:column.
func Parse(data []byte, name string) (*Script, error) {
	root, err := document(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &parser{name: name}
	s := p.script(root)
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return s, nil
}

// document returns the content of the one document in data.
func document(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the script is empty")
	case err != nil:
		return nil, fmt.Errorf("read the script: %w", err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("the script contains more than one YAML document")
	}
	if _, err := expanded(&doc, map[*yaml.Node]int{}); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("the script is empty")
	}
	return doc.Content[0], nil
}

// mostNodes bounds what aliases can make of a script.
const mostNodes = 1 << 20

// expanded counts the nodes below n with every alias followed. sizes remembers
// them; a node that is under way has -1.
func expanded(n *yaml.Node, sizes map[*yaml.Node]int) (int, error) {
	if size, ok := sizes[n]; ok {
		if size < 0 {
			return 0, fmt.Errorf("line %d: an alias contains itself", n.Line)
		}
		return size, nil
	}
	sizes[n] = -1
	below := n.Content
	if n.Kind == yaml.AliasNode {
		below = []*yaml.Node{n.Alias}
	}
	size := 1
	for _, child := range below {
		more, err := expanded(child, sizes)
		if err != nil {
			return 0, err
		}
		if size += more; size > mostNodes {
			return 0, fmt.Errorf("line %d: the script grows beyond %d nodes by its aliases", n.Line, mostNodes)
		}
	}
	sizes[n] = size
	return size, nil
}

// parser walks the nodes of a script, strictly, and collects problems.
type parser struct {
	name     string
	problems []error
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf("%s:%d:%d: %s", p.name, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

func (p *parser) script(n *yaml.Node) *Script {
	s := &Script{name: p.name}
	var version int
	p.fields(n, "a script", map[string]func(*yaml.Node){
		"version": func(n *yaml.Node) { version = int(p.count(n, "version")) },
		"turns":   func(n *yaml.Node) { s.turns = p.turns(n) },
		"agents":  func(n *yaml.Node) { s.agents = p.agents(n) },
	})
	if len(p.problems) > 0 {
		return s
	}
	if version != 1 {
		p.fail(n, "this version of a script is not known; write version: 1")
	}
	if s.turns == nil {
		p.fail(n, "the script has no turns")
	}
	return s
}

func (p *parser) agents(n *yaml.Node) map[string][]Turn {
	agents := map[string][]Turn{}
	p.pairs(n, "agents", func(key, value *yaml.Node) {
		p.fields(value, "an agent", map[string]func(*yaml.Node){
			"turns": func(n *yaml.Node) { agents[key.Value] = p.turns(n) },
		})
		if agents[key.Value] == nil {
			p.fail(key, "agent %q has no turns", key.Value)
		}
	})
	return agents
}

func (p *parser) turns(n *yaml.Node) []Turn {
	var turns []Turn
	p.items(n, "turns", func(n *yaml.Node) {
		turns = append(turns, p.turn(n, len(turns)+1))
	})
	return turns
}

func (p *parser) turn(n *yaml.Node, number int) Turn {
	t := Turn{Number: number, Source: p.name + ":" + strconv.Itoa(n.Line)}
	var responses, fails bool
	var finish string
	p.fields(n, "a turn", map[string]func(*yaml.Node){
		"text":      func(n *yaml.Node) { responses = true; t.Text = p.text(n, "text") },
		"calls":     func(n *yaml.Node) { responses = true; t.Calls = p.calls(n, number) },
		"reasoning": func(n *yaml.Node) { t.Reasoning = p.text(n, "reasoning") },
		"usage":     func(n *yaml.Node) { t.Usage = p.usage(n) },
		"expect":    func(n *yaml.Node) { t.Expect = p.expect(n) },
		"error":     func(n *yaml.Node) { fails = true; t.Error = p.failure(n) },
		"finish":    func(n *yaml.Node) { finish = p.oneOf(n, "finish", finishes) },
		"delay":     func(n *yaml.Node) { t.Delay = p.duration(n, "delay") },
	})
	if responses == fails {
		p.fail(n, "a turn has text, calls or both, or else an error")
	}
	switch {
	case finish != "":
		t.Finish = model.Finish(finish)
	case len(t.Calls) > 0:
		t.Finish = model.FinishTools
	default:
		t.Finish = model.FinishStop
	}
	return t
}

func (p *parser) calls(n *yaml.Node, turn int) []model.ToolCall {
	var calls []model.ToolCall
	p.items(n, "calls", func(n *yaml.Node) {
		c := model.ToolCall{ID: fmt.Sprintf("call_%d_%d", turn, len(calls)+1)}
		inputs := 0
		p.fields(n, "a call", map[string]func(*yaml.Node){
			"tool": func(n *yaml.Node) { c.Name = p.text(n, "tool") },
			"args": func(n *yaml.Node) { inputs++; c.Input = p.arguments(n) },
			"raw":  func(n *yaml.Node) { inputs++; c.Input = p.text(n, "raw") },
		})
		if c.Name == "" {
			p.fail(n, "a call needs a tool")
		}
		if inputs > 1 {
			p.fail(n, "a call has args or raw, not both")
		}
		if inputs == 0 {
			c.Input = "{}"
		}
		calls = append(calls, c)
	})
	return calls
}

func (p *parser) usage(n *yaml.Node) *money.Usage {
	var u money.Usage
	into := func(name string, to *int64) func(*yaml.Node) {
		return func(n *yaml.Node) { *to = p.count(n, name) }
	}
	p.fields(n, "usage", map[string]func(*yaml.Node){
		"input":       into("input", &u.Input),
		"output":      into("output", &u.Output),
		"reasoning":   into("reasoning", &u.Reasoning),
		"cache_read":  into("cache_read", &u.CacheRead),
		"cache_write": into("cache_write", &u.CacheWrite),
	})
	return &u
}

func (p *parser) expect(n *yaml.Node) []*regexp.Regexp {
	var list []*regexp.Regexp
	p.items(n, "expect", func(n *yaml.Node) {
		re, err := regexp.Compile(p.text(n, "an expectation"))
		if err != nil {
			p.fail(n, "an expectation is a regular expression: %v", err)
			return
		}
		list = append(list, re)
	})
	return list
}

// finishes are the reasons to stop that a turn can state.
var finishes = []string{
	string(model.FinishStop), string(model.FinishTools), string(model.FinishLength),
	string(model.FinishFilter), string(model.FinishUnknown),
}

// statuses pairs HTTP statuses with what they mean. The first status of a class
// stands for it.
var statuses = []struct {
	status int
	class  model.ErrorClass
}{
	{401, model.ClassAuth},
	{403, model.ClassAuth},
	{404, model.ClassUnknown},
	{400, model.ClassRequest},
	{422, model.ClassRequest},
	{402, model.ClassQuota},
	{413, model.ClassContext},
	{429, model.ClassRate},
	{503, model.ClassUnavailable},
	{0, model.ClassProtocol},
}

func (p *parser) failure(n *yaml.Node) *model.Error {
	var classes []string
	for _, s := range statuses {
		classes = append(classes, string(s.class))
	}
	e := &model.Error{RetryAfter: -1}
	message := "a scripted failure"
	p.fields(n, "an error", map[string]func(*yaml.Node){
		"status":      func(n *yaml.Node) { e.Status = int(p.count(n, "status")) },
		"class":       func(n *yaml.Node) { e.Class = model.ErrorClass(p.oneOf(n, "class", slices.Compact(classes))) },
		"message":     func(n *yaml.Node) { message = p.text(n, "message") },
		"retry_after": func(n *yaml.Node) { e.RetryAfter = p.duration(n, "retry_after") },
	})
	e.Err = errors.New(message)
	switch {
	case e.Class == "" && e.Status == 0:
		p.fail(n, "an error needs a class or a status")
	case e.Status != 0 && (e.Status < 400 || e.Status > 599):
		p.fail(n, "the status of an error is between 400 and 599")
	}
	complete(e)
	return e
}

// complete fills in the class of a status or the status of a class.
func complete(e *model.Error) {
	for _, s := range statuses {
		switch {
		case e.Status == 0 && e.Class == s.class:
			e.Status = s.status
			return
		case e.Class == "" && e.Status == s.status:
			e.Class = s.class
			return
		}
	}
	switch {
	case e.Class != "":
	case e.Status >= 500:
		e.Class = model.ClassUnavailable
	default:
		e.Class = model.ClassRequest
	}
}

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// pairs calls take with each key and value of a mapping.
func (p *parser) pairs(n *yaml.Node, what string, take func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolve(n.Content[i])
		switch {
		case key.Kind != yaml.ScalarNode:
			p.fail(key, "a key of %s must be a word", what)
		case seen[key.Value]:
			p.fail(key, "%q stands twice in %s", key.Value, what)
		default:
			seen[key.Value] = true
			take(key, resolve(n.Content[i+1]))
		}
	}
}

// fields reads a mapping whose keys are known.
func (p *parser) fields(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	p.pairs(n, what, func(key, value *yaml.Node) {
		read, ok := known[key.Value]
		if !ok {
			p.fail(key, "unknown key %q in %s; it can have: %s", key.Value, what, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			return
		}
		read(value)
	})
}

func (p *parser) items(n *yaml.Node, what string, take func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		p.fail(n, "%s must be a non-empty list", what)
		return
	}
	for _, item := range n.Content {
		take(resolve(item))
	}
}

func (p *parser) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		p.fail(n, "%s must be a string; quote what looks like something else", what)
		return ""
	}
	return n.Value
}

func (p *parser) oneOf(n *yaml.Node, what string, known []string) string {
	s := p.text(n, what)
	if s != "" && !slices.Contains(known, s) {
		p.fail(n, "%s %q is not known; it can be: %s", what, s, strings.Join(known, ", "))
	}
	return s
}

func (p *parser) count(n *yaml.Node, what string) int64 {
	var v int64
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&v) != nil || v < 0 {
		p.fail(n, "%s must be a whole number, 0 or more", what)
		return 0
	}
	return v
}

func (p *parser) duration(n *yaml.Node, what string) time.Duration {
	d, err := time.ParseDuration(p.text(n, what))
	if err != nil || d < 0 {
		p.fail(n, "%s must be a duration such as 200ms or 2s", what)
		return 0
	}
	return d
}
