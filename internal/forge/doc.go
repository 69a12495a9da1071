// Package forge accesses the APIs of GitHub, GitLab and Gitea: pull requests, comments, reviews,
// and lists of repositories. The three are called by their common terms: a merge request
// of GitLab is a pull request, a group is an owner.
//
// It has their vocabulary, and what their client libraries lack; the packages below it send the requests, and
// connect makes a client. All requests go through one sender, the transport of these libraries, which paces
// writes, waits for rate limits and retries. A write whose response was lost is repeated only after checking
// whether it happened, so that a fault of the network creates neither a second pull request nor a second comment.
// The package knows neither jobs nor what is published, and holds no credentials: it asks for them ([Options]).
package forge
