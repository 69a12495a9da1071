#compdef millhand
# Completion of millhand for zsh.
_millhand() {
	local line
	local -a candidates
	for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		[[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	if (( ${#candidates} )); then
		_describe millhand candidates
	else
		_files
	fi
}
compdef _millhand millhand
