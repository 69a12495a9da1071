// Package distillery makes a script of the accepted patches of a run: it asks a model once, by a run of one job,
// tries the script by another run (package runs) on the bases of the patches, and writes it if package distill
// accepts what it did. With [Options.Merged], the accepted patches are those whose pull requests are merged, which
// it asks their forges. It judges no trial itself.
package distillery
