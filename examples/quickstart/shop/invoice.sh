#!/usr/bin/env bash
# Prints the invoice of an order, or with --credit the credit note that cancels it:
#
#   bash invoice.sh [--credit] [CATALOG ORDER]
set -u
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/money.sh"

# discount_rate PIECES sets REPLY to the quantity discount on pieces of one product.
# Returned pieces had the discount when they were sold, so it counts for them too.
discount_rate() {
	local pieces=${1#-}
	if ((pieces >= 100)); then
		REPLY=1250
	elif ((pieces >= 10)); then
		REPLY=500
	else
		REPLY=0
	fi
}

# invoice CATALOG ORDER SIGN prints the invoice of an order, with -1 as the sign its
# credit note. CATALOG and ORDER are the texts of the files.
# The tax is computed on the sum of all lines, not line by line.
invoice() {
	local sku name price wanted pieces found net=0 rate=1900 line
	while IFS=, read -r wanted pieces; do
		found=''
		while IFS=, read -r sku name price; do
			[ "$sku" = "$wanted" ] || continue
			found=$name
			break
		done <<<"$1"
		if [ -z "$found" ] || ! hundredths "$price"; then
			echo "invoice: no product $wanted in the catalog" >&2
			return 1
		fi
		pieces=$((pieces * $3))
		line=$((REPLY * pieces))
		discount_rate "$pieces" && share "$line" "$REPLY"
		line=$((line - REPLY)) net=$((net + line))
		decimal "$line"
		printf '%4d %-16s %10s\n' "$pieces" "$name" "$REPLY"
	done <<<"$2"
	decimal "$net" && printf '%-21s %10s\n' net "$REPLY"
	share "$net" "$rate" && net=$((net + REPLY))
	decimal "$REPLY" && printf '%-21s %10s\n' tax "$REPLY"
	decimal "$net" && printf '%-21s %10s\n' total "$REPLY"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	sign=1
	if [ "${1:-}" = --credit ]; then
		sign=-1
		shift
	fi
	catalog=$(<"${1:-$here/catalog.csv}") && order=$(<"${2:-$here/order.csv}") || exit 1
	invoice "$catalog" "$order" "$sign"
fi
