# Amounts are whole cents, negative for money paid back. Rates are hundredths of a
# percent: 1900 is 19 %. Every rounding of the program is done here: to the nearest
# cent, halves away from zero, as invoices are rounded.

# div_round N D sets REPLY to N/D rounded to the nearest integer, halves away from
# zero. D must be positive.
div_round() {
	local quotient=$(($1 / $2)) remainder=$(($1 % $2))
	if ((2 * remainder >= $2)); then
		quotient=$((quotient + 1))
	fi
	REPLY=$quotient
}

# share AMOUNT RATE sets REPLY to that rate of the amount.
share() {
	div_round $(($1 * $2)) 10000
}

# decimal N sets REPLY to N/100 with two decimal places.
decimal() {
	local sign='' n=$1
	if ((n < 0)); then
		sign=- n=$((-n))
	fi
	printf -v REPLY '%s%d.%02d' "$sign" $((n / 100)) $((n % 100))
}

# hundredths TEXT sets REPLY to a decimal number multiplied by 100, and fails if the
# text is not one, or has more than two decimal places.
hundredths() {
	[[ $1 =~ ^(-?)([0-9]{1,9})(\.([0-9]{1,2}))?$ ]] || return 1
	local fraction=${BASH_REMATCH[4]}00
	REPLY=$((${BASH_REMATCH[1]}(10#${BASH_REMATCH[2]} * 100 + 10#${fraction:0:2})))
}
