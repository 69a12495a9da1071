// Package template has texts and conditions with variables: it parses them, and fills them in
// or decides them for one job. Which keys of a manifest have them, and what the variables of a
// job are, is left to others, except those of a CI's event, whose file it reads ([EventOf]).
package template
