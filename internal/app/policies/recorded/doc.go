// Package recorded reads what the calls of saved runs used and were denied. It suggests the least profile that allows it
// ([Suggest]), and decides the calls again by other rules ([Backtest]). It decides by the rules of package permission, runs
// nothing, and changes nothing.
package recorded
