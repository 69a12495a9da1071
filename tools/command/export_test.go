package command

// What tests of the package from outside use of its inside.
const MinTimeout = minTimeout

var TimeoutOf = timeoutOf
