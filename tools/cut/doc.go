// Package cut shortens texts for models: to a number of lines, to a size in JSON, to the title of a call and to an error message. It
// knows neither tools nor where the rest is stored.
package cut
