package invoice

import "example.com/shop/money"

// tiers are the quantity discounts, the largest first.
var tiers = []struct {
	from int // pieces of one product
	rate money.Rate
}{
	{100, 12_50},
	{50, 8_00},
	{10, 5_00},
}

// QuantityDiscount returns the discount on this many pieces of one product.
// Returned pieces had the discount when they were sold, so it counts for them
// as well.
func QuantityDiscount(quantity int) money.Rate {
	pieces := max(quantity, -quantity)
	for _, t := range tiers {
		if pieces >= t.from {
			return t.rate
		}
	}
	return 0
}
