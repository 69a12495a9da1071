package lsp

import (
	"path/filepath"
	"strings"
)

// languages are the protocol's names of languages by the extensions of files, where they are not
// the extension itself.
func languages() map[string]string {
	return map[string]string{
		"bash": "shellscript", "cc": "cpp", "cjs": "javascript", "cs": "csharp", "cts": "typescript", "cxx": "cpp", "ex": "elixir", "exs": "elixir",
		"fs": "fsharp", "h": "c", "hh": "cpp", "hpp": "cpp", "hs": "haskell", "hxx": "cpp", "js": "javascript", "jsx": "javascriptreact", "kt": "kotlin",
		"kts": "kotlin", "m": "objective-c", "md": "markdown", "mjs": "javascript", "ml": "ocaml", "mm": "objective-cpp", "mts": "typescript",
		"pl": "perl", "ps1": "powershell", "py": "python", "pyi": "python", "rake": "ruby", "rb": "ruby", "rs": "rust", "sh": "shellscript", "tf": "terraform",
		"ts": "typescript", "tsx": "typescriptreact", "yml": "yaml", "zsh": "shellscript",
	}
}

// languageOf returns the language of a file for didOpen.
func languageOf(path string) string {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	switch id, known := languages()[ext]; {
	case known:
		return id
	case ext == "": // such as Makefile
		return strings.ToLower(filepath.Base(path))
	}
	return ext
}
