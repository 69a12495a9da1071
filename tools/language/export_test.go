package language

// What tests of the package from outside use of its inside.
const (
	MaxErrors     = maxErrors
	MaxOtherFiles = maxOtherFiles
)
