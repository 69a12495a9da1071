#compdef millhand
# Completion of millhand for zsh. The variable 0 requests descriptions.
_millhand() {
	local line word="${words[CURRENT]}"
	local -a candidates call
	call=("${(@)words[1,CURRENT-1]}")
	[[ $word == -* ]] && call+=("$word")
	for line in "${(@f)$(env 0=zsh "${call[@]}" --generate-bash-completion 2>/dev/null)}"; do
		[[ -n $line && $line == "$word"* ]] && candidates+=("$line")
	done
	if (( ${#candidates} )); then
		_describe millhand candidates
	else
		_files
	fi
}
compdef _millhand millhand
