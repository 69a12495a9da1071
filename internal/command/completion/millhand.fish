# Completion of millhand for fish.
function __millhand_complete
	set -l words (commandline -opc) (commandline -ct)
	$words[1] __complete $words[2..-1] 2>/dev/null
end
function __millhand_has_candidates
	test -n "$(__millhand_complete)"
end
complete -c millhand -n __millhand_has_candidates -f -a '(__millhand_complete)'
