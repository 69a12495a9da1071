package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/jshost"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools"
)

// Chat are the hooks of plugins that change what a session sends to its model, and the tools that it offers. A hook is nil if
// no plugin has it, and returns what it was given if the hook fails.
type Chat struct {
	Prompt func(ctx context.Context, text string) string
	System func(ctx context.Context, text string) string
	// Messages changes the messages of a request.
	Messages func(context.Context, []model.Message) []model.Message
	// Tools is [Set.Refresh]; nil if the tools don't change.
	Tools func(context.Context) (current []tools.Tool, version int)
	// Tool changes the description and the schema of an offered tool.
	Tool func(context.Context, model.ToolSpec) model.ToolSpec
	// Request changes the sampling and the headers of a request, whose MaxOutput is the limit; 0
	// for none.
	Request func(context.Context, model.Request) model.Request
	// Summary changes the instructions for a summary of the conversation.
	Summary func(ctx context.Context, instructions string) string
	// Finished informs of a call that has ended, with the result for the model.
	Finished func(ctx context.Context, c event.Call, output string)
}

// The names of the hooks.
const (
	hookPrompt   = "chat.message"
	hookSystem   = "experimental.chat.system.transform"
	hookMessages = "experimental.chat.messages.transform"
	hookTool     = "tool.definition"
	hookParams   = "chat.params"
	hookHeaders  = "chat.headers"
	hookSummary  = "experimental.session.compacting"
)

// chat are the hooks for a session.
type chat struct {
	host                            *host
	session, agent, provider, model string
}

// Chat returns the hooks for a session with a model, which is PROVIDER/NAME.
func (set *Set) Chat(session, agent, of string) (all Chat) {
	if set.Follows() {
		all.Tools = func(ctx context.Context) ([]tools.Tool, int) { return set.Refresh(ctx, session, agent) }
	}
	if set == nil || set.host == nil {
		return all
	}
	c := &chat{host: set.host, session: session, agent: agent, model: of}
	if provider, name, found := strings.Cut(of, "/"); found {
		c.provider, c.model = provider, name
	}
	has := func(hook string) bool { return len(set.host.pluginsWith(hook)) > 0 }
	if has(hookPrompt) {
		all.Prompt = c.prompt
	}
	if has(hookSystem) {
		all.System = c.system
	}
	if has(hookMessages) {
		all.Messages = c.messages
	}
	if has(hookTool) {
		all.Tool = c.tool
	}
	if has(hookParams) || has(hookHeaders) {
		all.Request = c.request
	}
	if has(hookSummary) {
		all.Summary = c.summary
	}
	if set.host.listeners != nil {
		all.Finished = func(ctx context.Context, c event.Call, output string) {
			set.host.listeners.tell(ctx, finished(session, set.host.scripts.Load.Directory, c, output))
		}
	}
	return all
}

// pluginsWith returns the names of the plugins with a hook, none if it is not called again.
func (h *host) pluginsWith(hook string) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, l := range h.loaded {
		if slices.Contains(l.Hooks, hook) && !h.quiet[hook] {
			names = append(names, "plugin "+h.scripts.Load.Entries[i].Name)
		}
	}
	return names
}

// change calls a hook of all plugins, and returns what they made of output. input is added to what
// every hook gets.
func change[T any](ctx context.Context, c *chat, hook string, input map[string]any, output T) T {
	plugins := c.host.pluginsWith(hook)
	if len(plugins) == 0 {
		return output
	}
	of := map[string]any{"id": c.model, "modelID": c.model, "providerID": c.provider, "name": c.model}
	seen := map[string]any{
		"sessionID": c.session, "agent": c.agent, "model": of,
		"provider": map[string]any{"source": "config", "info": map[string]any{"id": c.provider}, "options": map[string]any{}},
		"message":  map[string]any{"sessionID": c.session, "role": "user", "agent": c.agent, "model": of},
	}
	maps.Copy(seen, input)
	raw, problems, err := c.host.live.Change(ctx, hook, seen, output)
	for _, p := range problems {
		c.warn(hook, p)
	}
	var made T
	if err == nil {
		err = json.Unmarshal(raw, &made)
	}
	switch {
	case err == nil:
		return made
	case ctx.Err() != nil:
	case errors.As(err, new(*jshost.Fault)):
		c.warn(hook, strings.Join(plugins, ", ")+": "+err.Error()+"; it is not called again")
		c.host.mute(hook)
	default:
		c.warn(hook, strings.Join(plugins, ", ")+": "+err.Error())
	}
	return output
}

// mute makes pluginsWith ignore a hook, or warn a warning, and reports whether they did not yet.
func (h *host) mute(name string) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet == nil {
		h.quiet = map[string]bool{}
	}
	first = !h.quiet[name]
	h.quiet[name] = true
	return first
}

// warn warns once of what a hook did.
func (c *chat) warn(hook, text string) {
	text = fmt.Sprintf("hook %s: %s", hook, textcut.Head(textcut.OneLine(text), maxTail, "..."))
	if c.host.mute(text) {
		c.host.config.Warn(text)
	}
}

// content is an element of a message.
type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (c *chat) prompt(ctx context.Context, text string) string {
	type output struct {
		Message map[string]any `json:"message"`
		Parts   []content      `json:"parts"`
	}
	made := change(ctx, c, hookPrompt, nil, output{map[string]any{"sessionID": c.session, "role": "user", "agent": c.agent}, []content{{"text", text}}})
	var texts []string
	for _, p := range made.Parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		} else {
			c.warn(hookPrompt, fmt.Sprintf("content of the type %q has no effect", p.Type))
		}
	}
	if joined := strings.Join(texts, "\n\n"); strings.TrimSpace(joined) != "" {
		return joined
	}
	return text
}

func (c *chat) system(ctx context.Context, text string) string {
	type output struct {
		System []string `json:"system"`
	}
	return strings.Join(change(ctx, c, hookSystem, nil, output{[]string{text}}).System, "\n\n")
}

func (c *chat) tool(ctx context.Context, t model.ToolSpec) model.ToolSpec {
	type output struct {
		Description string         `json:"description"`
		Parameters  map[string]any `json:"parameters"`
	}
	made := change(ctx, c, hookTool, map[string]any{"toolID": t.Name}, output{t.Description, t.Schema})
	if t.Description = made.Description; made.Parameters["type"] == "object" {
		t.Schema = made.Parameters
	} else {
		c.warn(hookTool, "the parameters of "+t.Name+" are not a JSON Schema of an object")
	}
	return t
}

func (c *chat) summary(ctx context.Context, instructions string) string {
	type output struct {
		Context []string `json:"context"`
		Prompt  string   `json:"prompt,omitempty"`
	}
	made := change(ctx, c, hookSummary, nil, output{Context: []string{}})
	if made.Prompt != "" {
		return made.Prompt
	}
	return strings.Join(append([]string{instructions}, made.Context...), "\n\n")
}

// request returns a request with other sampling parameters and headers.
func (c *chat) request(ctx context.Context, r model.Request) model.Request {
	type params struct {
		Temperature *float64       `json:"temperature,omitempty"`
		TopP        *float64       `json:"topP,omitempty"`
		TopK        any            `json:"topK,omitempty"`
		MaxOutput   int            `json:"maxOutputTokens,omitempty"`
		Options     map[string]any `json:"options"`
	}
	made := change(ctx, c, hookParams, nil, params{Temperature: r.Temperature, TopP: r.TopP, MaxOutput: r.MaxOutput, Options: map[string]any{}})
	r.Temperature, r.TopP = c.within("temperature", made.Temperature, 2, r.Temperature), c.within("topP", made.TopP, 1, r.TopP)
	switch most := r.MaxOutput; {
	case made.MaxOutput == 0: // not set
	case made.MaxOutput < 0 || most > 0 && made.MaxOutput > most:
		c.warn(hookParams, fmt.Sprintf("maxOutputTokens can be 1 to %d, not %d", most, made.MaxOutput))
	default:
		r.MaxOutput = made.MaxOutput
	}
	if made.TopK != nil || len(made.Options) > 0 {
		c.warn(hookParams, "topK and options have no effect")
	}
	r.Headers = c.headers(ctx)
	return r
}

// within returns a parameter if it is in its range.
func (c *chat) within(name string, value *float64, most float64, otherwise *float64) *float64 {
	if value != nil && (*value < 0 || *value > most) {
		c.warn(hookParams, fmt.Sprintf("%s can be 0 to %g, not %g", name, most, *value))
		return otherwise
	}
	return value
}

// maxHeader is the maximum length of a header and its value.
const maxHeader = 8 << 10

func (c *chat) headers(ctx context.Context) map[string]string {
	type output struct {
		Headers map[string]string `json:"headers"`
	}
	made := change(ctx, c, hookHeaders, nil, output{map[string]string{}}).Headers
	for name, value := range made {
		if ownHeader(name) || len(name)+len(value) > maxHeader || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
			c.warn(hookHeaders, "it can't set "+textcut.OneLine(textcut.Head(name, maxMethod, "...")))
			delete(made, name)
		}
	}
	return made
}

// ownHeaders are headers that are not for plugins. So are those with one of the words.
var (
	ownHeaders     = []string{"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "accept-encoding"}
	ownHeaderWords = []string{"auth", "key", "token", "secret", "cookie", "credential", "password", "proxy-", "content-"}
)

// ownHeader reports whether a header is not for plugins: it can have a credential, or belongs to the
// transport.
func ownHeader(name string) bool {
	lower := strings.ToLower(name)
	return !validName(strings.ReplaceAll(name, ".", "_")) || slices.Contains(ownHeaders, lower) ||
		slices.ContainsFunc(ownHeaderWords, func(word string) bool { return strings.Contains(lower, word) })
}
