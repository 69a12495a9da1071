package house

import (
	"go/ast"
	"slices"
	"testing"
)

// wait is how many real timers a file has, and why they are not behind a clock.Sleep.
type wait struct {
	timers  int
	because string
}

// waits lists the files with real timers. Tests of these wait in bubbles of testing/synctest, or for events.
func waits() map[string]wait {
	const process, server, user, test = "a process of the operating system ends or is killed", "it waits for a server or this, whichever is first", "what a person sees", "tests"
	return map[string]wait{
		"internal/proc/clock/clock.go": {1, "it is the rule"},

		"runner/site/timelimit.go":            {1, "the time limit of a job; its test is in a bubble"},
		"runner/site/opening.go":              {1, user},
		"internal/app/runs/claimed.go":        {1, user},
		"internal/app/queue/worker/worker.go": {1, user},
		"internal/app/queue/worker/job.go":    {1, "a job's last message reaches the queue, or this time ends"},
		"internal/app/queue/claim.go":         {1, "leases, which the server's clock ends"},
		"internal/app/queue/claims.go":        {1, server},
		"internal/app/queue/ledger.go":        {1, server},
		"internal/model/gate.go":              {1, "a gate opens, or it is asked again; its test is in a bubble"},
		"internal/model/wire/watchdog.go":     {3, "a response that stalls; its test is in a bubble"},
		"report/telemetry/sender.go":          {1, server},
		"report/telemetry/exporter.go":        {1, server},
		"internal/extension/lsp/diagnose.go":  {1, server},
		"internal/extension/mcp/server.go":    {1, server},
		"internal/extension/tell.go":          {1, server},
		"internal/extension/extension.go":     {1, server},
		"internal/extension/jshost/conn.go":   {1, server},
		"internal/gitops/remote/transport.go": {1, process},
		"internal/proc/service.go":            {2, process},
		"internal/proc/proc.go":               {4, process},
		"internal/files/diskusage/monitor.go": {2, "files that a command writes meanwhile, and the first measurement"},
		"internal/sandbox/child/limits.go":    {1, process},
		"internal/sandbox/child/supervise.go": {2, process},
		"internal/files/own.go":               {3, "the reader of a FIFO, another process"},

		"internal/testing/wiretest/fault.go":      {1, test},
		"internal/testing/lsptest/lsptest.go":     {3, test},
		"internal/testing/mcptest/mcptest.go":     {3, test},
		"internal/testing/e2e/scripts/scripts.go": {3, test},
		"internal/testing/e2e/scripts/queue.go":   {1, test},
	}
}

// What decides by time is tested without waiting.
func TestRealTimersAreListed(t *testing.T) {
	allowed := waits()
	for _, files := range sources(t) {
		for name, file := range files {
			timers := 0
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains([]string{"Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}, sel.Sel.Name) {
					timers++
				}
				return true
			})
			if timers != allowed[name].timers {
				t.Errorf("%s has %d real timers, listed are %d: wait with a clock.Sleep, or list it with the reason", name, timers, allowed[name].timers)
			}
			delete(allowed, name)
		}
	}
	for name := range allowed {
		t.Errorf("%s not found: remove its line", name)
	}
}
