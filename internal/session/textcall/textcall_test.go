package textcall

import (
	"slices"
	"strings"
	"testing"
)

// known are the names of the tests' tools.
func known(name string) bool {
	return slices.Contains([]string{"read", "bash", "write", "todoread", "list", "docs_search-all"}, name)
}

const qwen = "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}\n</tool_call>"

// The calls, one of each form, end a message, also after prose.
var markup = map[string]string{
	"Qwen, Hermes":               qwen,
	"Qwen, two":                  qwen + "\n" + qwen,
	"Qwen, truncated":            "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"filePath\": \"a",
	"Qwen, without closing":      "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}",
	"Qwen, a brace missing":      "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}\n</tool_call>",
	"Qwen, a line feed":          "<tool_call>{\"name\": \"write\", \"arguments\": {\"filePath\": \"a\", \"content\": \"x\ny `z`\"}}</tool_call>",
	"Qwen, arguments first":      "<tool_call>{\"arguments\": {\"name\": \"x\"}, \"name\": \"read\"}</tool_call>",
	"Qwen, a template's token":   qwen + "<|im_end|>",
	"single quotes":              "<tool_call>{'name': 'read', 'arguments': {'filePath': 'a'}}</tool_call>",
	"Qwen3-Coder":                "<tool_call>\n<function=read>\n<parameter=filePath>\na.txt\n</parameter>\n</function>\n</tool_call>",
	"Qwen3-Coder, no outer tag":  "<function=read>\n<parameter=filePath>\na.txt\n</parameter>\n</function>\n</tool_call>",
	"Qwen3-Coder, inner only":    "<function=read><parameter=filePath>a.txt</parameter></function>",
	"Qwen3-Coder, truncated":     "<function=write>\n<parameter=filePath>\na.txt\n</parameter>\n<parameter=content>\nx = 1\n",
	"Qwen3-Coder, in one line":   "<tool_call><function=read><parameter=filePath>a.txt",
	"Qwen3-Coder, tags missing":  "<function=read>\n<parameter=filePath>\na.txt\n</function>\n</tool_call>",
	"Qwen3-Coder, no parameters": "<tool_call>\n<function=todoread>\n</function>\n</tool_call>",
	"content with a code block":  "<function=write>\n<parameter=filePath>\na.md\n</parameter>\n<parameter=content>\n```go\nx\n```\n</parameter>\n</function>",
	"GLM":                        "<tool_call>read\n<arg_key>filePath</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
	"GLM, truncated":             "<tool_call>read\n<arg_key>filePath</arg_key>\n<arg_value>a",
	"GLM, no arguments":          "<tool_call>todoread</tool_call>",
	"GLM, in one line":           "<tool_call>read<arg_key>filePath</arg_key><arg_value>a</arg_value></tool_call>",
	"Kimi":                       "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{\"filePath\": \"a\"}<|tool_call_end|><|tool_calls_section_end|>",
	"Kimi, truncated":            "<|tool_calls_section_begin|><|tool_call_begin|>functions.docs_search-all:12<|tool_call_argument_begin|>{\"filePath\"",
	"DeepSeek V3":                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"filePath\": \"a\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"DeepSeek V3, two":           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"filePath\": \"a\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"filePath\": \"b\"}\n```<｜tool▁call▁end｜>",
	"DeepSeek V3.1":              "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{\"filePath\": \"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"DeepSeek V3.2":              "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read\">\n<｜DSML｜parameter name=\"filePath\" string=\"true\">a</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
	"Llama 3.1":                  "<|python_tag|>{\"name\": \"read\", \"parameters\": {\"filePath\": \"a\"}}",
	"Llama 3.1, two":             "<|python_tag|>{\"name\": \"read\", \"parameters\": {\"filePath\": \"a\"}}; {\"name\": \"read\", \"parameters\": {}}<|eom_id|>",
	"Llama 3.1, custom":          "<function=read>{\"filePath\": \"a\"}</function>",
	"Llama 3.1, unclosed":        "<function=read>{\"filePath\": \"a\"}",
	"Llama 3.1, built-in":        "<|python_tag|>read.call(filePath=\"a\")",
	"Llama 3.2":                  "[read(filePath=\"a\")]",
	"Llama 3.2, two":             "[read(filePath=\"a, (b\"), bash(command='ls')]",
	"Llama 4":                    "<|python_start|>[read(filePath=\"a\")]<|python_end|>",
	"Mistral":                    "[TOOL_CALLS][{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}]",
	"Mistral, newer":             "[TOOL_CALLS]read[ARGS]{\"filePath\": \"a\"}",
	"Mistral, with an id":        "[TOOL_CALLS]read[CALL_ID]a1b2c3d4e[ARGS]{\"filePath\": \"a\"}</s>",
	"gpt-oss":                    "<|channel|>commentary to=functions.read <|constrain|>json<|message|>{\"filePath\": \"a\"}<|call|>",
	"gpt-oss, started":           "<|start|>assistant<|channel|>analysis to=functions.read<|channel|>commentary <|constrain|>json<|message|>{\"filePath\": \"a\"}",
	"gpt-oss, after its role":    "<|start|>assistant to=functions.read<|channel|>commentary json<|message|>{\"filePath\": \"a\"}<|call|>",
	"gpt-oss, without tokens":    "commentary to=functions.read json{\"filePath\": \"a\"}",
	"gpt-oss, the recipient":     "to=functions.read\n{\"filePath\": \"a\"}",
	"Claude":                     "<function_calls>\n<invoke name=\"read\">\n<parameter name=\"filePath\">a</parameter>\n</invoke>\n</function_calls>",
	"Claude, with a prefix":      strings.ReplaceAll("<ns:function_calls>\n<ns:invoke name=\"read\">\n<ns:parameter name=\"filePath\">a</ns:parameter>\n</ns:invoke>\n</ns:function_calls>", "ns:", "ant"+"ml:"),
	"Claude, truncated":          "<invoke name=\"write\">\n<parameter name=\"filePath\">a</parameter>\n<parameter name=\"content\">x",
	"MiniMax":                    "<minimax:tool_call>\n<invoke name=\"read\">\n<parameter name=\"filePath\">a</parameter>\n</invoke>\n</minimax:tool_call>",
	"Granite":                    "<|tool_call|>[{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}]",
	"Phi":                        "<|tool_call|>[{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}]<|/tool_call|>",
	"Nemotron":                   "<TOOLCALL>[{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}]</TOOLCALL>",
	"Jamba":                      "<tool_calls>[\n {\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}\n]</tool_calls>",
	"Command":                    "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"read\", \"parameters\": {}}]<|END_ACTION|>",
	"InternLM":                   "<|action_start|><|plugin|>{\"name\": \"read\", \"parameters\": {}}<|action_end|>",
	"Functionary":                "functools[{\"name\": \"read\", \"arguments\": {}}]",
	"Gemma":                      "<start_function_call>call:read{filePath:<escape>a<escape>}<end_function_call>",
	"Gemma 4":                    "<|tool_call>call:read{filePath:<|\"|>a<|\"|>}<tool_call|>",
	"Gemma, a stop token":        "<start_function_call>call:read{filePath:<escape>a<escape>}<end_function_call><start_function_response>",
	"Gemma, code":                "<tool_code>\nread(filePath=\"a\")\n</tool_code>",
	"LM Studio":                  "[TOOL_REQUEST]\n{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}\n[END_TOOL_REQUEST]",
	"Qwen2.5-Coder":              "<tools>\n{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}\n</tools>",
	"Grok":                       "<xai:function_call name=\"read\">\n<parameter name=\"filePath\">a</parameter>\n</xai:function_call>",
	"a name as an attribute":     "<tool_call name=\"read\">\n{\"filePath\": \"a\"}\n</tool_call>",
	"capital letters":            "<TOOL_CALL>\n{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}\n</TOOL_CALL>",
	"Anthropic's word":           "<tool_use>{\"name\": \"read\", \"input\": {\"filePath\": \"a\"}}</tool_use>",
	"Llama 3, a bracket missing": "<function=read{\"filePath\": \"a\"}</function>",
	"Mistral, without tokens":    "read{\"filePath\": \"a\"}",
	"Kimi, without tokens":       "functions.read:0{\"filePath\": \"a\"}",
	"characters without width":   "\ufeff" + qwen + "\u200b",
	"in the reasoning":           "<think>\nI need it.\n" + qwen + "\n</think>",
	"a tag of functions":         "<function_call>{\"name\": \"functions.read\", \"arguments\": \"{}\"}</function_call>",
}

func TestMarkupOfCallEndsMessage(t *testing.T) {
	for name, call := range markup {
		for _, before := range []string{"", "I will read it.\n", "I looked at `<tool_call>` and it is\n\n```go\nf()\n```\n\nNow:\n\n", "<think>\nWhat now?\n</think>\n\n"} {
			for _, after := range []string{"", "\n\n \n"} {
				if got := Ends(before+call+after, known); !known(got) {
					t.Errorf("%s after %q: got %q", name, before, got)
				}
			}
		}
		if before := "I will read it. "; !strings.HasPrefix(strings.Trim(call, "["), "read") && Ends(before+call, known) == "" {
			t.Errorf("%s in a line: not found", name)
		}
		if got := Ends(call, func(string) bool { return false }); got != "" {
			t.Errorf("%s of a tool that is not offered: got %q", name, got)
		}
	}
}

func TestProseAboutMarkupIsNoCall(t *testing.T) {
	for name, call := range markup {
		if strings.Contains(name, "runcated") || strings.Contains(name, "in one line") {
			continue // whatever follows belongs to the last argument
		}
		for _, text := range []string{
			call + "\n\nThat is how the model calls it.", call + " is the form.",
			"The template has:\n\n```\n" + call + "\n```", "~~~~xml\n" + call + "\n~~~~\n", "```\n" + call,
			"- like this:\n\n    " + strings.ReplaceAll(call, "\n", "\n    "), "He wrote:\n\n> " + strings.ReplaceAll(call, "\n", "\n> "),
		} {
			if got := Ends(text, known); got != "" {
				t.Errorf("%s: got %q for %q", name, got, text)
			}
		}
	}
	for _, text := range []string{
		"", "done", "<tool_call>", "</tool_call>", "It emits <tool_call>.", "The parser looks for <function=read>", "Use <function=read> and <parameter=filePath>",
		"The tags are <function=read><parameter=filePath> and their closing tags", "See `<tool_call><function=read><parameter=x>y`", "`" + qwen + "`",
		"The list is\n[list(range(3))]", "x = [read(f) for f in files]", "Links: [read](a.md)", "[read(filePath=\"a\")] is Python", "a [read(filePath=\"a\")]",
		"{\"name\": \"read\", \"arguments\": {}}", "The result is:\n[{\"name\": \"read\", \"arguments\": {}}]", "I sent it to=functions.read", "<|channel|>final<|message|>Done.",
		"<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>", "<invoke name=\"fly\"></invoke>", "if a <b> and <invoke it", "<function=read>{ and then the arguments",
		"The set is list{\"a\"}", "list{x}", "read{}x", "functions.read:0 is its id", "<tools>", "<function=read{x", "</think>", "The bug is in [TOOL_REQUEST]",
		"<details><summary>read</summary></details>", "[TOOL_CALLS]", "<|im_end|>", "call:read{}", "I would call read(filePath=\"a\")",
	} {
		if got := Ends(text, known); got != "" {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestMessageIsNothingButCall(t *testing.T) {
	const object = `{"name": "read", "arguments": {"filePath": "a"}}`
	for text, want := range map[string]string{
		object: "read", "  \n" + object + "\n": "read", object + "\n" + object: "read", "[" + object + "]": "read", "<think>hm</think>\n" + object: "read",
		"```json\n" + object + "\n```": "read", "```tool_code\nprint(default_api.read(filePath=\"a\"))\n```": "read", "```tool_code\nread(filePath='a')\nbash(command='ls')\n```": "read",
		"```tool_call\n" + object + "\n```":                                              "read",
		`{"type": "function", "function": {"name": "read", "parameters": {}}}`:           "read",
		`{"id": "1", "type": "tool_use", "name": "read", "input": {}}`:                   "read",
		`{"tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": "{}"}}]}`: "bash",
		`{"tool": "bash", "args": {"command": "ls"}}`:                                    "bash",
		"I will read it:\n\n" + object:                                                   "read", object + "<|eot_id|>": "read", "I will read it:\n{\n  \"name\": \"read\",\n  \"parameters\": {}\n}": "read", "It has\n\n> " + object: "", "It is " + object: "", "It has\n\n    " + object: "",
		"I will read it:\n```json\n" + object + "\n```": "", "```python\nread(filePath='a')\n```": "", object + "\nThat is it.": "",
		`{"name": "read", "description": "reads a file", "arguments": {}}`: "", `{"name": "fly", "arguments": {}}`: "", `{"name": "read"}`: "", `{"name": "read", "arguments": ["a"]}`: "",
		"The tool is:\n" + `{"type": "function", "name": "bash", "parameters": {"type": "object", "properties": {"command": {}}}}`: "", `{"name": "bash", "parameters": {"type": "object"}}`: "",
		"An example of the entry:\n\n" + `{"name": "read", "input": "stdin"}`: "", `{"name": "read", "arguments": "{\"filePath\": \"a\"}"}`: "read", `{"name": "read", "parameters": {"type": "object", "filePath": "a"}}`: "read",
		"[]": "", "{}": "", "null": "", "1": "", "": "", `"read"`: "", object + "}": "", "```tool_code\nx = 1\n```": "", `{"tool_calls": []}`: "",
	} {
		if got := Only(text, known); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzCalls(f *testing.F) {
	for _, call := range markup {
		f.Add(call)
		f.Add("a `b` [c](d)\n```\n" + call)
	}
	f.Add("```tool_code\nread(filePath='a')\n```")
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{Ends(text, known), Only(text, known)} {
			if got != "" && !known(got) {
				t.Errorf("unknown name %q", got)
			}
		}
		if Ends(text, known) != "" && Ends(text+"\n\nThat is it. x", func(string) bool { return false }) != "" {
			t.Error("an unknown name is found")
		}
	})
}
