// Package template has texts and conditions with variables: it has the forms (package form) that parse them as
// values of keys, finds what a text mentions ([tasks.Mention]), and fills texts in or decides conditions for one
// job. It knows neither which keys of a manifest have them (package manifest) nor the variables of a job (package
// expand), except those of a CI's event, whose file it reads ([EventOf]).
package template
