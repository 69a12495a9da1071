// Package frontmatter reads the YAML frontmatter of a Markdown file: the text between a first line of three
// hyphens and the next such line. Skills, agents and commands are such files. It does not know what their keys
// mean.
//
// They come from untrusted repositories, so frontmatter is limited in size and
// depth and must be plain: one mapping with unique keys, no anchors, aliases,
// merge keys or tags. One common mistake is accepted: a value on the line of
// its key may contain a colon without quotes. Unknown keys are ignored, because
// other programs use the same files.
package frontmatter
