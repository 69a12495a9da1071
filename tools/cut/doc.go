// Package cut shortens texts for models: to a number of lines, to a size in JSON, to the title of a call and to an error message. It
// knows neither tools nor where what was cut off is kept.
package cut
