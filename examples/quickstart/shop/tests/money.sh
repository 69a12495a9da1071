# amount rate share
while read -r amount rate want; do
	share "$amount" "$rate"
	check "$rate of $amount" "$REPLY" "$want"
done <<'END'
1000 1900 190
999 1900 190
102 1900 19
50 1900 10
1 5000 1
1 4999 0
END

while read -r text want; do
	hundredths "$text"
	check "$text in cents" "$REPLY" "$want"
	decimal "$REPLY"
	check "$want as a decimal number" "$REPLY" "$text"
done <<'END'
0.00 0
0.09 9
8.40 840
-0.05 -5
-12.50 -1250
END
for text in '' 1. 1.234 x 1e3 '1;ls'; do
	hundredths "$text" && check "'$text'" accepted refused
done
