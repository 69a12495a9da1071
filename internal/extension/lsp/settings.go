package lsp

import (
	"encoding/json"
	"strings"
)

// settings returns the settings that a server asks for, by their sections: those in its
// initialization, {} for others. Servers do not expect null, and some fail with it.
func settings(initialization json.RawMessage, params *json.RawMessage) []any {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if params != nil {
		json.Unmarshal(*params, &p) //nolint:errcheck // an invalid request gets no settings
	}
	var all any
	json.Unmarshal(initialization, &all) //nolint:errcheck // nil without any
	made := make([]any, len(p.Items))
	for i, item := range p.Items {
		if made[i] = section(all, item.Section); made[i] == nil {
			made[i] = map[string]any{}
		}
	}
	return made
}

// section returns the value of a key with dots, which may be several keys; nil for none.
func section(of any, name string) any {
	keys, ok := of.(map[string]any)
	switch {
	case name == "":
		return of
	case !ok:
		return nil
	case keys[name] != nil:
		return keys[name]
	}
	for at := len(name); ; {
		if at = strings.LastIndexByte(name[:at], '.'); at < 0 {
			return nil
		}
		if found := section(keys[name[:at]], name[at+1:]); found != nil {
			return found
		}
	}
}
