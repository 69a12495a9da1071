package kinds

// table has a row for each kind, the usual ones first.
var table = []Kind{
	{
		Name: "openai", First: "gpt-5-mini", BaseURL: "https://api.openai.com/v1",
		KeyEnv: []string{"OPENAI_API_KEY"}, BaseEnv: []string{"OPENAI_BASE_URL"},
		Unread:      []string{"OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"},
		GenaiPrices: "openai", ModelsDev: "openai",
	},
	{
		// No variable of its own: other servers must not get the key for OpenAI.
		Name: "openai-compatible", Keyless: true, Manifest: "openai",
		OpenCode: []string{"@ai-sdk/openai-compatible"},
	},
	{
		Name: "openai-responses", BaseURL: "https://api.openai.com/v1",
		KeyEnv: []string{"OPENAI_API_KEY"}, BaseEnv: []string{"OPENAI_BASE_URL"}, Manifest: "responses",
		OpenCode: []string{"@ai-sdk/openai"}, Telemetry: "openai",
	},
	{
		Name: "anthropic", First: "claude-haiku-4-5", BaseURL: "https://api.anthropic.com", KeyEnv: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, TokenEnv: []string{"ANTHROPIC_AUTH_TOKEN"},
		BaseEnv:  []string{"ANTHROPIC_BASE_URL"},
		Unread:   []string{"ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"},
		OpenCode: []string{"@ai-sdk/anthropic"}, GenaiPrices: "anthropic", ModelsDev: "anthropic",
	},
	{
		Name: "google", First: "gemini-2.5-flash", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai",
		KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseEnv: []string{"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"},
		Unread:   []string{"GOOGLE_GENAI_USE_VERTEXAI"},
		OpenCode: []string{"@ai-sdk/google"}, GenaiPrices: "google", ModelsDev: "google", Telemetry: "gcp.gemini",
	},
	{
		Name: "openrouter", First: "openai/gpt-5-mini", BaseURL: "https://openrouter.ai/api/v1",
		KeyEnv: []string{"OPENROUTER_API_KEY"}, BaseEnv: []string{"OPENROUTER_BASE_URL"},
		OpenCode: []string{"@openrouter/ai-sdk-provider"}, GenaiPrices: "openrouter", ModelsDev: "openrouter",
	},
	{
		Name: "mistral", First: "devstral-latest", BaseURL: "https://api.mistral.ai/v1",
		KeyEnv: []string{"MISTRAL_API_KEY"}, BaseEnv: []string{"MISTRAL_BASE_URL"},
		OpenCode: []string{"@ai-sdk/mistral"}, GenaiPrices: "mistral", ModelsDev: "mistral", Telemetry: "mistral_ai",
	},
	{
		Name: "groq", First: "openai/gpt-oss-120b", BaseURL: "https://api.groq.com/openai/v1",
		KeyEnv: []string{"GROQ_API_KEY"}, BaseEnv: []string{"GROQ_BASE_URL"},
		OpenCode: []string{"@ai-sdk/groq"}, GenaiPrices: "groq", ModelsDev: "groq",
	},
	{
		Name: "deepseek", First: "deepseek-v4-flash", BaseURL: "https://api.deepseek.com",
		KeyEnv: []string{"DEEPSEEK_API_KEY"}, BaseEnv: []string{"DEEPSEEK_BASE_URL"},
		OpenCode: []string{"@ai-sdk/deepseek"}, GenaiPrices: "deepseek", ModelsDev: "deepseek",
	},
	{
		Name: "xai", First: "grok-code-fast-1", BaseURL: "https://api.x.ai/v1",
		KeyEnv: []string{"XAI_API_KEY"}, BaseEnv: []string{"XAI_BASE_URL"},
		OpenCode: []string{"@ai-sdk/xai"}, GenaiPrices: "x-ai", ModelsDev: "xai", Telemetry: "x_ai",
	},
	{
		Name: "ollama", BaseURL: "http://localhost:11434/v1", Keyless: true, Free: true, Hosted: true,
		KeyEnv: []string{"OLLAMA_API_KEY"}, BaseEnv: []string{"OLLAMA_HOST", "OLLAMA_BASE_URL"},
		OpenCode: []string{"ollama-ai-provider", "ollama-ai-provider-v2"},
	},
	{
		Name: "azure", Cloud: Azure, Deployed: true, Hosts: []string{
			".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com",
			".openai.azure.us", ".cognitiveservices.azure.us", ".services.ai.azure.us",
			".openai.azure.cn", ".cognitiveservices.azure.cn", ".services.ai.azure.cn",
		},
		LoginEnv: []string{"AZURE_CLIENT_ID", "AZURE_TENANT_ID"},
		KeyEnv:   []string{"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"}, TokenEnv: []string{"AZURE_OPENAI_AD_TOKEN"},
		BaseEnv:  []string{"AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"},
		Unread:   []string{"AZURE_API_KEY", "AZURE_API_BASE", "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"},
		OpenCode: []string{"@ai-sdk/azure"}, GenaiPrices: "azure", ModelsDev: "azure", Telemetry: "azure.ai.openai",
	},
	{
		Name: "lmstudio", BaseURL: "http://localhost:1234/v1", Keyless: true, Free: true,
		KeyEnv: []string{"LM_API_TOKEN"}, BaseEnv: []string{"LMSTUDIO_BASE_URL"},
	},
	{
		Name: "vllm", BaseURL: "http://localhost:8000/v1", Keyless: true, Free: true,
		KeyEnv: []string{"VLLM_API_KEY"}, BaseEnv: []string{"VLLM_BASE_URL"},
	},
	{
		Name: "together", First: "meta-llama/Llama-3.3-70B-Instruct-Turbo", BaseURL: "https://api.together.ai/v1",
		KeyEnv: []string{"TOGETHER_API_KEY"}, BaseEnv: []string{"TOGETHER_BASE_URL"},
		OpenCode: []string{"@ai-sdk/togetherai"}, GenaiPrices: "together", ModelsDev: "togetherai",
	},
	{
		Name: "fireworks", First: "accounts/fireworks/models/deepseek-v4-flash", BaseURL: "https://api.fireworks.ai/inference/v1",
		KeyEnv: []string{"FIREWORKS_API_KEY"}, BaseEnv: []string{"FIREWORKS_BASE_URL"},
		OpenCode: []string{"@ai-sdk/fireworks"}, GenaiPrices: "fireworks", ModelsDev: "fireworks-ai",
	},
	{
		Name: "cerebras", First: "gpt-oss-120b", BaseURL: "https://api.cerebras.ai/v1",
		KeyEnv: []string{"CEREBRAS_API_KEY"}, BaseEnv: []string{"CEREBRAS_BASE_URL"},
		OpenCode: []string{"@ai-sdk/cerebras"}, GenaiPrices: "cerebras", ModelsDev: "cerebras",
	},
	{
		Name: "bedrock", First: "global.anthropic.claude-haiku-4-5-20251001-v1:0", Cloud: AWS, Hosts: []string{".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu"},
		LoginEnv: []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_ACCESS_KEY_ID"},
		KeyEnv:   []string{"AWS_BEARER_TOKEN_BEDROCK"}, TokenEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"},
		BaseEnv:  []string{"ANTHROPIC_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
		OpenCode: []string{"@ai-sdk/amazon-bedrock"}, Telemetry: "aws.bedrock",
	},
	{
		Name: "vertex", Cloud: Google, Hosts: []string{".googleapis.com"},
		LoginEnv: []string{"ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_APPLICATION_CREDENTIALS"},
		BaseEnv:  []string{"ANTHROPIC_VERTEX_BASE_URL"},
		OpenCode: []string{"@ai-sdk/google-vertex/anthropic"}, Telemetry: "gcp.vertex_ai",
	},
}
