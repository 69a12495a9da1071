// Package threads makes what a prompt has of an issue or pull request: its texts, its comments, the changed files and the logs of
// failed checks, as far as they existed when the CI's event happened. It only reads, bounds each part, and marks all of it as data;
// it knows neither sessions nor events.
package threads
