package schema

// Limits of hostile schemas and documents. Go can't recover from a stack overflow.
const (
	maxNesting  = 500     // keys from the root of a schema to a subschema
	maxDepth    = 10_000  // schemas that apply within each other
	maxSteps    = 1 << 20 // schemas and values of one check; see run.spend
	maxPatterns = 200_000 // instructions of the regular expressions of a schema
	maxFaults   = 100     // of one document
)
