package command

// noVariable is for EnvVars of a flag that no variable stands in for.
func noVariable() []string { return []string{""} }
