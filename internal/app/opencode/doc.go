// Package opencode makes a manifest from the configuration of OpenCode:
// opencode.json or opencode.jsonc in a directory and its .opencode directory.
//
// The format is that of https://opencode.ai/config.json. The files are read as data:
// nothing that they name is run or fetched.
package opencode
