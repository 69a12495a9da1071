//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The subset of the Chat Completions API that the floor uses.
type (
	message struct {
		Role    string     `json:"role"`
		Content string     `json:"content"`
		Calls   []wireCall `json:"tool_calls,omitempty"`
		CallID  string     `json:"tool_call_id,omitempty"`
	}
	wireCall struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	chunk struct {
		Choices []struct {
			Delta message `json:"delta"`
		} `json:"choices"`
	}
)

// instruction is the prompt for both millhand and the floor.
const instruction = "Count up the revisions of the files that you find worth it."

// playFloor runs the tool calls of the model at url in dir, until it makes no more.
func playFloor(ctx context.Context, url, dir string) error {
	messages := []message{{Role: "system", Content: "You are a coding agent."}, {Role: "user", Content: instruction}}
	for {
		response, err := ask(ctx, url, messages)
		if err != nil {
			return err
		}
		if len(response.Calls) == 0 {
			return nil
		}
		messages = append(messages, response)
		for _, c := range response.Calls {
			text, err := execute(ctx, dir, c.Function.Name, c.Function.Arguments)
			if err != nil {
				return fmt.Errorf("%s %s: %w", c.Function.Name, c.Function.Arguments, err)
			}
			messages = append(messages, message{Role: "tool", Content: text, CallID: c.ID})
		}
	}
}

// ask posts the conversation and reads the streamed response.
func ask(ctx context.Context, url string, messages []message) (message, error) {
	response := message{Role: "assistant"}
	body, err := json.Marshal(map[string]any{"model": "bench", "stream": true, "messages": messages})
	if err != nil {
		return response, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return response, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return response, err
	}
	defer resp.Body.Close()
	if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil { // exactly that long, as an ideal client
		time.Sleep(time.Duration(after) * time.Second)
		return ask(ctx, url, messages)
	}
	if resp.StatusCode != http.StatusOK {
		return response, fmt.Errorf("server responded %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return response, err
		}
		for _, choice := range c.Choices {
			response.take(choice.Delta)
		}
	}
	return response, lines.Err()
}

// take adds a chunk of a response.
func (m *message) take(delta message) {
	m.Content += delta.Content
	for _, c := range delta.Calls {
		if c.Index == len(m.Calls) {
			m.Calls = append(m.Calls, c)
			continue
		}
		m.Calls[c.Index].Function.Arguments += c.Function.Arguments
	}
}
