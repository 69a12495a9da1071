// Package distill decides what is asked for a script that makes the change of accepted
// patches, and whether the script is accepted: it must make the same change in jobs whose
// patches the model did not get. It runs nothing.
package distill
