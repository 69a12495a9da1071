// Package distillery makes a script of the accepted patches of a run: it asks a model once, by a run of one job, or
// reads [Options.Script]; it tries the script by another run (package runs) on the bases of the patches. The script and
// the result are written to the report directory, and a new script also to the output if package distill accepts what it
// did. With [Options.Merged], the accepted patches are those whose pull requests are merged, which it asks their forges.
// It judges no trial itself.
package distillery
