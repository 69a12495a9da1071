package openai

import (
	"cmp"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/millhand/millhand/internal/model"
)

// params maps a request to the wire. The same request gives the same bytes, and
// a conversation that grew gives bytes that begin as before, so that providers
// can cache.
func (c *client) params(req model.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         c.model,
		Messages:      messages(req),
		Tools:         tools(req.Tools),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	if req.MaxOutput > 0 {
		p.MaxCompletionTokens = param.NewOpt(int64(req.MaxOutput))
	}
	if req.Temperature != nil {
		p.Temperature = param.NewOpt(*req.Temperature)
	}
	return p
}

func messages(req model.Request) []sdk.ChatCompletionMessageParamUnion {
	list := make([]sdk.ChatCompletionMessageParamUnion, 0, len(req.Messages)+1)
	if req.System != "" {
		list = append(list, sdk.SystemMessage(req.System))
	}
	for _, m := range req.Messages {
		switch m.Role {
		case model.Assistant:
			list = append(list, assistant(m))
		case model.ToolRole:
			list = append(list, sdk.ToolMessage(m.Text, m.CallID))
		default:
			list = append(list, sdk.UserMessage(m.Text))
		}
	}
	return list
}

// assistant gives the calls back as the model wrote them, be it no JSON: what
// it is told of its fault would make no sense otherwise. Arguments that it left
// out are an empty object, without which some servers refuse the request.
func assistant(m model.Message) sdk.ChatCompletionMessageParamUnion {
	var p sdk.ChatCompletionAssistantMessageParam
	if m.Text != "" || len(m.Calls) == 0 {
		p.Content.OfString = param.NewOpt(m.Text)
	}
	for _, c := range m.Calls {
		p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name:      c.Name,
					Arguments: cmp.Or(c.Input, "{}"),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &p}
}

// tools is nil for an empty list, which servers refuse.
func tools(specs []model.ToolSpec) []sdk.ChatCompletionToolUnionParam {
	var list []sdk.ChatCompletionToolUnionParam
	for _, t := range specs {
		f := sdk.FunctionDefinitionParam{Name: t.Name, Parameters: t.Schema}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		list = append(list, sdk.ChatCompletionFunctionTool(f))
	}
	return list
}
