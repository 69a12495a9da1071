// Package prices knows what models cost: a table of published prices, written
// down on the date that it states, and the arithmetic from token counts to US
// dollars. A model that it doesn't know has no price; it never guesses.
package prices
