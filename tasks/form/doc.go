// Package form reads YAML files, and the metadata of Markdown files, by tables of their keys. A [Table] has one [Row] for each key of a
// mapping, and a row a form that reads a [Value] of the file into its destination, or records a
// problem with its position and goes on. The tables also are what is known of keys: suggestions,
// descriptions, defaults and JSON Schemas follow from them.
//
// A [Source] is one file with what holds for its values: the directory that its paths start from,
// the policies that bound it, and what reading it has used of this machine ([Uses]). The package
// knows neither manifests nor plans: what keys there are and what they mean is for its callers. It only knows keys of other
// tools that authors write by mistake ([ForeignKeys]).
package form
