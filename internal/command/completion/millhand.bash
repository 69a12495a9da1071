# Completion of millhand for bash.
_millhand() {
	local word="${COMP_WORDS[COMP_CWORD]}" line
	local -a call=("${COMP_WORDS[@]:0:COMP_CWORD}")
	[[ $word == -* ]] && call+=("$word")
	COMPREPLY=()
	while IFS= read -r line; do
		[[ $line == "$word"* ]] && COMPREPLY+=("$line")
	done < <("${call[@]}" --generate-bash-completion 2>/dev/null)
}
complete -o bashdefault -o default -F _millhand millhand
