# Completion of millhand for bash.
_millhand() {
	local line
	COMPREPLY=()
	while IFS= read -r line; do
		COMPREPLY+=("${line%%$'\t'*}")
	done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _millhand millhand
