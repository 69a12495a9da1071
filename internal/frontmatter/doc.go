// Package frontmatter reads the YAML head of a Markdown file: what stands
// between a first line of three hyphens and the next such line. Skills, agents
// and commands are such files.
//
// Foreign repositories bring them, so a head is bounded in size and depth, and
// must be plain: one mapping with each key once, no anchors, aliases, merge keys
// or tags. One liberty is taken that many authors take: a value that stands on
// the line of its key may hold a colon without quotes. Keys that the reader does
// not ask for are left alone, because the same files serve other programs.
package frontmatter
