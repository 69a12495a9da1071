package websearch

// What tests of the package from outside use of its inside.
var (
	ReadExa     = readExa
	ReadResults = readResults
)
