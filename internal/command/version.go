package command

import (
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/text/printable"
)

// sourceVersion is the version of this source: that of a release in its commit, and X.Y.Z-dev,
// of the next one, in others. The action and the release workflow read the same file.
//
//go:embed version.txt
var sourceVersion string

// pseudoVersion matches the versions that Go makes of a commit without a tag.
var pseudoVersion = regexp.MustCompile(`[.-]\d{14}-[0-9a-f]{12}(\+|$)`)

// versionDocument is what `millhand version --json` prints. Fields that the build does not
// have are empty.
type versionDocument struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // commit
	Date     string `json:"date"`     // of the commit, RFC 3339
	Modified bool   `json:"modified"` // the build has uncommitted changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func buildVersion() versionDocument {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

// versionOf returns the version of a build. info is nil if the build has none.
func versionOf(info *debug.BuildInfo) versionDocument {
	doc := versionDocument{Version: strings.TrimSpace(sourceVersion), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return doc
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			doc.Revision = s.Value
		case "vcs.time":
			doc.Date = s.Value
		case "vcs.modified":
			doc.Modified = s.Value == "true"
		}
	}
	switch v := info.Main.Version; {
	case v != "" && v != "(devel)" && !pseudoVersion.MatchString(v): // a tag
		doc.Version = v
	case len(doc.Revision) >= 12:
		doc.Version += "+" + doc.Revision[:12]
	case pseudoVersion.MatchString(v): // of go install MODULE@COMMIT
		doc.Version += "+" + v[strings.LastIndexByte(v, '-')+1:]
	}
	return doc
}

// version returns the version of this build, with its revision if it is not that of a tag.
func version() string { return buildVersion().Version }

func versionCommand(w world.World) *cli.Command {
	var json bool
	return &cli.Command{
		Name: "version", Usage: "Print the version",
		Flags: []cli.Flag{jsonFlag(&json, "Print one JSON document")},
		Action: func(*cli.Context) error {
			if json {
				return printable.WriteJSON(w.Out, buildVersion())
			}
			return printVersion(w.Out)
		},
	}
}

// printVersion prints the version with what a bug report needs.
func printVersion(out io.Writer) error {
	doc := buildVersion()
	text := "millhand " + doc.Version + " ("
	if doc.Revision != "" {
		text += "commit " + doc.Revision
		if doc.Modified {
			text += ", modified"
		}
		text += ", " + doc.Date + ", "
	}
	_, err := fmt.Fprintf(out, "%s%s %s/%s)\n", text, doc.Go, doc.OS, doc.Arch)
	return err
}
