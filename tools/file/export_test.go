package file

import (
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/language"
	"github.com/millhand/millhand/tools/patch"
)

// What tests of the package from outside use of its inside.
const (
	ByteOrderMark = byteOrderMark
	MaxCounted    = maxCounted
	MaxEdit       = maxEdit
)

var (
	DecodeText  = decodeText
	MissingDirs = missingDirs
)

// PerformPatch writes the changes of a patch.
func PerformPatch(space *workspace.Workspace, paths map[string]workspace.Path, writes []patch.Write) error {
	env := Env{Env: language.Env{Paths: &access.Paths{Workspace: space}}}
	return patching{env: env, paths: paths}.perform(writes)
}

func (e encoding) Encode(text string) []byte { return e.encode(text) }
