// Package objectdb reads the objects of git repositories from packs and loose files, also while git replaces packs, and compares
// each with its hash. It installs packs, and names the temporary files that writers of objects make. It knows neither references
// nor what files of a working tree are.
package objectdb
