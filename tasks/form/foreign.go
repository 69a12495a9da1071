package form

import (
	"strings"
)

// foreignKey is what a key of another tool is called here.
type foreignKey struct {
	Has string // a key that the mapping has, so that the fix applies
	fix string
}

// ForeignKeys returns the keys of other tools, in lower case without - and _. Of several
// the first that applies is used.
func ForeignKeys() map[string][]foreignKey {
	var (
		time     = []foreignKey{{"time", "write time: 20m"}, {"limits", "write limits: {time: 20m}"}}
		turns    = []foreignKey{{"limits", "write limits: {turns: 60}"}}
		cost     = []foreignKey{{"limits", "write limits: {cost: 1.50}"}}
		output   = []foreignKey{{"output", "write output: {schema: {type: object}}"}}
		needs    = []foreignKey{{"needs", "write needs: [TASK]"}}
		branch   = []foreignKey{{"commit", "write commit: {branch: NAME}"}}
		profile  = []foreignKey{{"permission", "write permission: {TOOL: allow}"}, {"profile", "write it in a profile: profiles: {NAME: {extends: build, permission: {TOOL: allow}}}, and profile: NAME"}}
		env      = []foreignKey{{"profile", "list the variables in a profile: profiles: {NAME: {extends: build, env: [VARIABLE]}}, and profile: NAME"}}
		network  = []foreignKey{{"profile", "write it in a profile: profiles: {NAME: {extends: build, network: [HOST], cache: [go]}}, and profile: NAME"}}
		verify   = []foreignKey{{"verify", "write verify: [COMMAND]"}}
		setup    = []foreignKey{{"setup", "write setup: [COMMAND]"}}
		attempts = []foreignKey{{"attempts", "write attempts: 3"}}
		steps    = []foreignKey{{"prompt", "write setup: [COMMAND] for commands before the agent, prompt: TEXT, and verify: [COMMAND]"}, {"tasks", "write tasks: [{id: NAME, prompt: TEXT}]"}}
		parallel = []foreignKey{{"jobs", "write jobs: 4"}}
		repos    = []foreignKey{{"repos", "write repos: [{path: DIR}]"}}
		vars     = []foreignKey{{"vars", "write vars: {NAME: VALUE}"}}
		sampling = foreignKey{"verify", "write it at the top of the manifest, or in an agent: agents: {NAME: {...}}"}
		effort   = []foreignKey{{"effort", "write effort: high"}, {"verify", "write effort: high at the top of the manifest, or in an agent: agents: {NAME: {...}}"}}
		system   = []foreignKey{{"instructions", "write instructions: [FILE], or agents: {NAME: {prompt: TEXT}}"}, {"agent", "write agents: {NAME: {prompt: TEXT}}, and agent: NAME"}}
		schedule = []foreignKey{{"tasks", "schedule millhand with cron, systemd or a CI (examples/)"}}
		when     = []foreignKey{{"if", "write if: EXPRESSION"}}
		matrix   = []foreignKey{{"matrix", "write matrix: {NAME: [VALUE, VALUE]}"}}
	)
	return map[string][]foreignKey{
		"timeout": time, "timeoutminutes": time, "maxtime": time, "deadline": time,
		"maxturns": turns, "maxsteps": turns, "maxiterations": turns, "turns": turns,
		"cost": cost, "maxcost": cost, "maxbudget": cost, "maxbudgetusd": cost, "budget": cost,
		"schema": output, "jsonschema": output, "outputschema": output, "responseformat": output, "outputformat": output,
		"dependson": needs, "depends": needs, "requires": needs, "after": needs,
		"branch": branch, "branchname": branch, "commitmessage": {{"commit", "write commit: {message: TEXT}"}},
		"permission": profile, "permissions": profile, "allowedtools": profile, "disallowedtools": profile, "allow": profile, "deny": profile, "permissionmode": profile, "approvalpolicy": profile,
		"env": env, "environment": env, "secrets": env, "passenv": env,
		"network": network, "cache": network,
		"test": verify, "tests": verify, "check": verify, "checks": verify, "afterscript": verify,
		"install": setup, "before": setup, "beforescript": setup, "presteps": setup,
		"retries": attempts, "retry": attempts, "maxattempts": attempts, "maxretries": attempts,
		"steps": steps, "run": steps, "script": steps, "command": steps, "commands": steps,
		"concurrency": parallel, "parallel": parallel, "maxparallel": parallel, "workers": parallel,
		"repository": repos, "repositories": repos, "cwd": repos, "workdir": repos, "workingdirectory": repos, "directory": repos,
		"variables": vars, "params": vars, "inputs": vars,
		"effort": {sampling}, "temperature": {sampling}, "maxoutput": {sampling}, "notify": {{"hooks", "run a command with hooks: {run_end: [COMMAND]}"}},
		"reasoning": effort, "reasoningeffort": effort, "thinking": effort,
		"system": system, "systemprompt": system, "appendsystemprompt": system,
		"on": schedule, "schedule": schedule, "cron": schedule,
		"when": when, "onlyif": when,
		"foreach": matrix, "strategy": matrix,
		"maxtokens": {{"max_output", "write max_output: TOKENS"}}, "mcpservers": {{"mcp", "write mcp: {NAME: {command: [PROGRAM]}}"}},
		"pr": {{"publish", "write publish: {mode: pr}"}}, "pullrequest": {{"publish", "write publish: {mode: pr}"}},
		"sandbox": {{"tasks", "use the flag --sandbox"}}, "title": {{"id", "write id: NAME"}}, "name": {{"prompt", "write id: NAME"}},
	}
}

// foreignFix returns how a key of another tool is written in a mapping, or "".
func (ks Table) foreignFix(name string) string {
	plain := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
	for _, f := range ForeignKeys()[plain] {
		if ks.Index(f.Has) >= 0 {
			return f.fix
		}
	}
	return ""
}
