// Package words finds words and phrases that the project does not use: see
// banned.txt and discouraged.txt. It reads comments, strings and identifiers of Go
// files, and all of Markdown, YAML, shell and txtar files. Its test holds the tree
// to the two lists.
//
// It knows no grammar: an identifier is split into its words at changes of case,
// and a phrase is found across line breaks, but not across the end of a sentence.
package words
