package provider

import (
	"slices"

	"github.com/millhand/millhand/internal/model/openai"
)

// Kind is a provider, or a server of one's own that speaks like one.
type Kind struct {
	Name    string
	BaseURL string   // "" without a common default
	KeyEnv  []string // variables that hold the key; the first that is set counts
	BaseEnv []string // variables that hold another base URL; the first that is set counts
	Keyless bool     // works without a key

	// TokenEnv are those of KeyEnv whose value is a bearer token, where keys have a header of
	// their own.
	TokenEnv []string
	// Cloud is whose login is used where no key is set; "" for kinds that only have keys.
	Cloud Cloud
	// LoginEnv are variables that show that the cloud is used.
	LoginEnv []string
	// Hosts are the ends of the hosts that are the cloud's own.
	Hosts []string
	// Unread are variables of the provider's own tools that are not read, as users may expect.
	Unread []string

	header  map[string]string // of each request
	speaks  protocol
	dialect openai.Dialect // of a kind that speaks chat
}

// Cloud is one with a login of its own, as people call it.
type Cloud string

// The clouds.
const (
	AWS    Cloud = "AWS"
	Google Cloud = "Google Cloud"
	Azure  Cloud = "Azure" // logged in to only with a login in the manifest or a variable of LoginEnv: it has keys, too
)

// protocol is the wire that a kind speaks.
type protocol int

const (
	chat      protocol = iota
	native             // OpenAI's models: Responses for those that reason, else chat
	responses          // OpenAI's Responses
	messages           // Anthropic's Messages
)

// Lookup returns the kind of a name.
func Lookup(name string) (Kind, bool) {
	if name == "gemini" {
		name = "google"
	}
	i := slices.IndexFunc(table, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return table[i], true
}

// Names returns the names of all kinds.
func Names() []string {
	names := make([]string, len(table))
	for i, k := range table {
		names[i] = k.Name
	}
	return names
}

// table is every kind.
var table = []Kind{
	{
		Name: "openai", BaseURL: openai.DefaultBaseURL, speaks: native, dialect: openai.OpenAI(),
		KeyEnv: []string{"OPENAI_API_KEY"}, BaseEnv: []string{"OPENAI_BASE_URL"},
		Unread: []string{"OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"},
	},
	{
		Name: "openai-responses", BaseURL: openai.DefaultBaseURL, speaks: responses,
		KeyEnv: []string{"OPENAI_API_KEY"}, BaseEnv: []string{"OPENAI_BASE_URL"},
	},
	{
		Name: "anthropic", BaseURL: "https://api.anthropic.com", speaks: messages,
		KeyEnv: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, TokenEnv: []string{"ANTHROPIC_AUTH_TOKEN"},
		BaseEnv: []string{"ANTHROPIC_BASE_URL"},
		Unread:  []string{"ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"},
	},
	{
		Name: "bedrock", speaks: messages, Cloud: AWS, Hosts: []string{".amazonaws.com"},
		LoginEnv: []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_ACCESS_KEY_ID"},
		KeyEnv:   []string{"AWS_BEARER_TOKEN_BEDROCK"}, TokenEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"},
		BaseEnv: []string{"ANTHROPIC_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
	},
	{
		Name: "vertex", speaks: messages, Cloud: Google, Hosts: []string{".googleapis.com"},
		LoginEnv: []string{"ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_APPLICATION_CREDENTIALS"},
		BaseEnv:  []string{"ANTHROPIC_VERTEX_BASE_URL"},
	},
	{
		Name: "google", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai",
		KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseEnv: []string{"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"},
		Unread: []string{"GOOGLE_GENAI_USE_VERTEXAI"},
		dialect: openai.Dialect{
			Effort: lowToHigh, Temperature: true, Output: openai.OutputAlone, Schema: geminiSchema,
			Objects: true, Images: true, Reasoning: openai.ReasoningSignatures,
		},
	},
	{
		Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1",
		KeyEnv: []string{"OPENROUTER_API_KEY"}, BaseEnv: []string{"OPENROUTER_BASE_URL"},
		header: map[string]string{"HTTP-Referer": "https://github.com/millhand/millhand", "X-Title": "millhand"}, // which app calls
		dialect: openai.Dialect{
			MaxTokens: true, Effort: routed, Temperature: true,
			CacheKey: openai.CacheKeyField, Output: openai.OutputAlone,
			Objects: true, Images: true, Files: true, Reasoning: openai.ReasoningDetails,
		},
	},
	{
		Name: "mistral", BaseURL: "https://api.mistral.ai/v1",
		KeyEnv: []string{"MISTRAL_API_KEY"}, BaseEnv: []string{"MISTRAL_BASE_URL"},
		dialect: openai.Dialect{
			MaxTokens: true, Usage: openai.UsageUnasked, Temperature: true, Output: openai.OutputAlone,
			ShortIDs: true, Objects: true, Bridge: true, Alternate: true, Images: true,
		},
	},
	{
		Name: "groq", BaseURL: "https://api.groq.com/openai/v1",
		KeyEnv: []string{"GROQ_API_KEY"}, BaseEnv: []string{"GROQ_BASE_URL"},
		dialect: openai.Dialect{Temperature: true, Output: openai.OutputByTool},
	},
	{
		Name: "deepseek", BaseURL: "https://api.deepseek.com",
		KeyEnv: []string{"DEEPSEEK_API_KEY"}, BaseEnv: []string{"DEEPSEEK_BASE_URL"},
		dialect: openai.Dialect{
			MaxTokens: true, Effort: deepThought, Temperature: true, Output: openai.OutputByTool,
			Reasoning: openai.ReasoningContent,
		},
	},
	{
		Name: "xai", BaseURL: "https://api.x.ai/v1",
		KeyEnv: []string{"XAI_API_KEY"}, BaseEnv: []string{"XAI_BASE_URL"},
		dialect: openai.Dialect{
			Temperature: true, CacheKey: openai.CacheKeyHeader, Output: openai.OutputOwn, Images: true,
		},
	},
	{
		Name: "together", BaseURL: "https://api.together.ai/v1",
		KeyEnv: []string{"TOGETHER_API_KEY"}, BaseEnv: []string{"TOGETHER_BASE_URL"},
		dialect: openai.Dialect{MaxTokens: true, Temperature: true, Output: openai.OutputAlone, Objects: true, Images: true},
	},
	{
		Name: "fireworks", BaseURL: "https://api.fireworks.ai/inference/v1",
		KeyEnv: []string{"FIREWORKS_API_KEY"}, BaseEnv: []string{"FIREWORKS_BASE_URL"},
		dialect: openai.Dialect{
			MaxTokens: true, Effort: lowToHigh, Temperature: true, Output: openai.OutputAlone, Objects: true, Images: true,
		},
	},
	{
		Name: "cerebras", BaseURL: "https://api.cerebras.ai/v1",
		KeyEnv: []string{"CEREBRAS_API_KEY"}, BaseEnv: []string{"CEREBRAS_BASE_URL"},
		dialect: openai.Dialect{Temperature: true, Output: openai.OutputByTool, Objects: true},
	},
	{
		Name: "azure", speaks: native, Cloud: Azure, Hosts: []string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"},
		LoginEnv: []string{"AZURE_CLIENT_ID", "AZURE_TENANT_ID"},
		KeyEnv:   []string{"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"}, TokenEnv: []string{"AZURE_OPENAI_AD_TOKEN"},
		BaseEnv: []string{"AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"},
		Unread:  []string{"AZURE_API_KEY", "AZURE_API_BASE", "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"},
		dialect: openai.Dialect{
			KeyHeader: "Api-Key", Effort: openai.AnyEffort(), Temperature: true, CacheKey: openai.CacheKeyField,
			Output: openai.OutputOwn, Images: true,
		},
	},
	{
		Name: "ollama", BaseURL: "http://localhost:11434/v1", Keyless: true,
		KeyEnv: []string{"OLLAMA_API_KEY"}, BaseEnv: []string{"OLLAMA_HOST", "OLLAMA_BASE_URL"},
		dialect: openai.Dialect{
			MaxTokens: true, Effort: noneToHigh, Temperature: true, Output: openai.OutputAlone, Objects: true, Images: true,
		},
	},
	{
		Name: "vllm", BaseURL: "http://localhost:8000/v1", Keyless: true,
		KeyEnv: []string{"VLLM_API_KEY"}, BaseEnv: []string{"VLLM_BASE_URL"},
		dialect: openai.Dialect{
			Effort: lowToHigh, Temperature: true, Output: openai.OutputAlone, Objects: true, Alternate: true, Images: true,
		},
	},
	{
		Name: "lmstudio", BaseURL: "http://localhost:1234/v1", Keyless: true,
		KeyEnv: []string{"LM_API_TOKEN"}, BaseEnv: []string{"LMSTUDIO_BASE_URL"},
		dialect: openai.Dialect{
			MaxTokens: true, Effort: lowToHigh, Temperature: true, Output: openai.OutputAlone, Objects: true, Alternate: true, Images: true,
		},
	},
	{
		// No variable of its own: other servers must not get the key for OpenAI.
		Name: "openai-compatible", Keyless: true, dialect: compatible,
	},
}

// compatible is what most servers make of OpenAI's Chat Completions.
var compatible = openai.Dialect{
	Effort: openai.AnyEffort(), Temperature: true, Output: openai.OutputAlone, Images: true, Files: true,
}
