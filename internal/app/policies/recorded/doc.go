// Package recorded reads what the calls of saved runs used and were denied, and suggests the least profile that allows it. It
// decides by the rules of package permission, and changes nothing.
package recorded
