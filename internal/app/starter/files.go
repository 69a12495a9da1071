package starter

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/millhand/millhand/examples"
)

// File is a file to write.
type File struct {
	Path string // relative, with slashes
	Data []byte
	Mode fs.FileMode
}

// CI is a system that runs millhand unattended.
type CI string

// The systems for which there are files.
const (
	GitHub CI = "github"
	GitLab CI = "gitlab"
	Cron   CI = "cron"
)

// Files returns the files that a system needs, the examples of the same name.
func (c CI) Files() ([]File, error) {
	entries, err := examples.Files.ReadDir(string(c))
	if err != nil {
		return nil, fmt.Errorf("read the examples of %s: %w", c, err)
	}
	var files []File
	for _, e := range entries {
		data, err := examples.Files.ReadFile(path.Join(string(c), e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the examples of %s: %w", c, err)
		}
		f := File{Path: c.path(e.Name()), Data: data, Mode: 0o644}
		if strings.HasSuffix(e.Name(), ".sh") {
			f.Mode = 0o755
		}
		files = append(files, f)
	}
	return files, nil
}

// Demo returns the files of the quickstart.
func Demo() ([]File, error) {
	const dir = "quickstart"
	var all []File
	err := fs.WalkDir(examples.Files, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := examples.Files.ReadFile(name)
		all = append(all, File{Path: strings.TrimPrefix(name, dir+"/"), Data: data, Mode: 0o644})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the example %s: %w", dir, err)
	}
	return all, nil
}

// path returns where a system expects one of its files.
func (c CI) path(name string) string {
	switch {
	case c == GitHub && path.Ext(name) == ".yml":
		return ".github/workflows/millhand-" + name
	case c == GitHub:
		return ".github/millhand/" + name
	}
	return name
}

// Next returns what the user has to do then.
func (c CI) Next() string {
	switch c {
	case GitHub:
		return "edit the manifests in .github/millhand, remove the workflows that you don't need, and set the secret OPENAI_API_KEY in the repository's settings"
	case GitLab:
		return "edit millhand.yaml, and set the masked CI/CD variable OPENAI_API_KEY in the project's settings"
	default:
		return "edit millhand.yaml and the paths in crontab or millhand.service, and write the key to key.env with mode 0600"
	}
}
