// Package distillery makes a script of the accepted patches of a run: it asks a model once, tries the script on the bases of the
// patches, and writes it if package distill accepts what it did. It judges no trial itself.
package distillery
