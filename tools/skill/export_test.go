package skill

// MaxSample is for tests from outside.
const MaxSample = maxSample
