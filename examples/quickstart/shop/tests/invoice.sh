expected='  12 Stoneware mug         95.76
   3 Green tea             14.85
   1 Teapot                31.99
net                       142.60
tax                        27.09
total                     169.69'
check "the printed invoice" "$(bash invoice.sh)" "$expected"
check "a product that is missing" "$(invoice MUG,Mug,8.40 JUG,1 1 2>&1)" "invoice: no product JUG in the catalog"

for case in 1:0 9:0 10:500 99:500 100:1250 -9:0 -10:500 -100:1250; do
	discount_rate "${case%:*}"
	check "the discount on ${case%:*} pieces" "$REPLY" "${case#*:}"
done
