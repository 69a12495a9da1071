# Whoever sends everything back gets exactly the money that was paid.
mirrors() { # NAME PRICE PIECES
	local paid back i names=(line net tax total)
	paid=($(invoice "ONE,One,$2" "ONE,$3" 1 | while read -r line; do echo "${line##* }"; done))
	back=($(invoice "ONE,One,$2" "ONE,$3" -1 | while read -r line; do echo "${line##* }"; done))
	for i in 1 2 3; do
		check "$1: ${names[i]}" "${back[i]}" "-${paid[i]}"
	done
}

mirrors "nothing to round" 10.00 1
mirrors "a tax rounded down" 1.02 1
mirrors "a tax rounded up" 9.99 1
mirrors "a tax of exactly half a cent" 0.50 1
mirrors "a discount rounded up" 3.49 13
