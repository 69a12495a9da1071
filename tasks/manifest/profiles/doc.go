// Package profiles reads permission profiles: presets, those of a manifest, which may extend each other, and the body of one in
// a file of its own. It decides nothing: a profile is rules, hosts, caches and variables with the position of each, and package
// permission judges by them. It does not know which tools and keys a manifest defines; a [Vocabulary] has their names.
package profiles
