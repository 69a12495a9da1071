package gitdir

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// worktreeConfigName is the file of the settings of one work tree, which git reads after the repository's if
// that has extensions.worktreeConfig (git-worktree, "Configuration file").
const worktreeConfigName = "config.worktree"

// LocalConfig reads the configuration of the repository and of its work tree as they are now, without
// files that they include.
func (d *Dir) LocalConfig() (ConfigFile, error) { return localConfig(d.Own, d.Common) }

func localConfig(own, common string) (ConfigFile, error) {
	return readLocal(own, common, ReadConfigFile)
}

// readLocal reads the configuration of a repository and of a work tree with a function. The extension
// counts only in the repository's own file.
func readLocal(own, common string, read func(name string) (ConfigFile, error)) (ConfigFile, error) {
	name := filepath.Join(common, "config")
	f, err := read(name)
	if err != nil {
		return f, err
	}
	direct, err := ReadConfigFile(name)
	if err != nil || !direct.boolean("extensions", "worktreeconfig") {
		return f, err
	}
	of, err := read(filepath.Join(own, worktreeConfigName))
	return ConfigFile{slices.Concat(f.options, of.options)}, err
}

// WorktreeConfig returns the content of the configuration file of a new linked worktree: the settings of this
// one, as git worktree add copies them, without what holds only for this one. A worktree
// with all files is not sparse. It returns nil if the new one needs no such file.
func (d *Dir) WorktreeConfig() ([]byte, error) {
	direct, err := ReadConfigFile(filepath.Join(d.Common, "config"))
	if err != nil || !direct.boolean("extensions", "worktreeconfig") {
		return nil, err
	}
	of, err := ReadConfigFile(filepath.Join(d.Own, worktreeConfigName))
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, o := range of.options {
		switch {
		case o.key == "" || o.subsection == nameless:
		case o.section == "core" && o.subsection == "" && slices.Contains([]string{"bare", "worktree", "sparsecheckout", "sparsecheckoutcone"}, o.key):
		case o.section == "index" && o.subsection == "" && o.key == "sparse":
		default:
			out.WriteString(o.text())
		}
	}
	if direct.boolean("core", "sparsecheckout") {
		out.WriteString("[core]\n\tsparseCheckout = false\n")
	}
	if out.Len() == 0 {
		return nil, nil
	}
	return []byte(out.String()), nil
}

// text returns the option with its section in the syntax of a configuration file.
func (o option) text() string {
	header := "[" + o.section + "]"
	if o.subsection != "" {
		header = "[" + o.section + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(o.subsection) + `"]`
	}
	value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(o.value)
	return fmt.Sprintf("%s\n\t%s = \"%s\"\n", header, o.key, value)
}
