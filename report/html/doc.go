// Package html writes report.html: a run as one page for people, without anything that it
// would have to load. The table of jobs is plain HTML, which needs no script; the script
// sorts, filters and groups it. The details of a job (timeline, costs, diffs, the
// conversation with every call) are a compressed block in the file, which the browser
// inflates when the job is opened, so that a page with thousands of jobs opens fast.
//
// Texts of models, tools and repositories are untrusted: they are escaped, control
// characters are made visible, and their Markdown has no HTML, hyperlinks or images. A content
// security policy permits the style and the script of the page only.
//
// The package reads no files: the caller provides conversations and patches.
package html
