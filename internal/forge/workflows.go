package forge

import (
	"context"
	"strings"
)

// WorkflowFiles is the directory of GitHub's workflows. Pushes that change something in it
// require a permission of its own.
const WorkflowFiles = ".github/workflows"

// Workflows returns why the token can't push changes of [WorkflowFiles] to a repository,
// with the fix; "" if it can. It is unknown for tokens whose permissions GitHub does not
// report, such as fine-grained ones. Other forges require no permission.
func (c *Client) Workflows(ctx context.Context, p Path) (missing string, known bool, err error) {
	return c.api.Workflows(ctx, p)
}

// RefusesWorkflow reports whether the message of a rejected push is GitHub's about a token
// that can't change workflows, such as "refusing to allow a GitHub App to create or update
// workflow `.github/workflows/ci.yml` without `workflows` permission".
func RefusesWorkflow(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "refusing to allow") && strings.Contains(message, "create or update") && strings.Contains(message, "workflow")
}
