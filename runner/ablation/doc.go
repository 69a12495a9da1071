// Package ablation finds which hunks of a change the verify commands of its task need, and which of its tests fail without it.
//
// It divides a change into hunks ([Read]), makes the files of the change without some of them ([Change.Tree]), and decides which
// trees are to be verified ([Change.Search], [Change.Prove]). A trial is given by its tree and has one result: the command
// that failed, or none. The order of trials follows from the change and the earlier results only, so that the same results
// lead to the same verdicts, whatever runs concurrently and however often the search was interrupted.
//
// It reads and writes the files of a directory ([ContentIn], [Tree.WriteTo]), but runs nothing there, and knows neither
// repositories nor jobs.
package ablation
