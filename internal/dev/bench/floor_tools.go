//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// execute runs a tool call in the most direct way.
func execute(ctx context.Context, dir, tool, arguments string) (string, error) {
	var in struct{ FilePath, Pattern, OldString, NewString, Command string }
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", err
	}
	switch tool {
	case "read":
		data, err := os.ReadFile(filepath.Join(dir, in.FilePath))
		return string(data), err
	case "edit":
		return replace(filepath.Join(dir, in.FilePath), in.OldString, in.NewString)
	case "glob":
		return glob(dir, in.Pattern)
	case "grep":
		return grep(ctx, dir, in.Pattern)
	case "bash":
		cmd := exec.CommandContext(ctx, "bash", "-c", in.Command)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	return "", errors.New("unknown tool")
}

func replace(name, old, now string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if !bytes.Contains(data, []byte(old)) {
		return "", errors.New("text to replace not found")
	}
	return "done", os.WriteFile(name, bytes.Replace(data, []byte(old), []byte(now), 1), 0o644)
}

// glob supports only patterns of the form **/NAME.
func glob(dir, pattern string) (string, error) {
	var found strings.Builder
	base := strings.TrimPrefix(pattern, "**/")
	err := walk(dir, func(name string) error {
		ok, err := path.Match(base, path.Base(name))
		if ok {
			fmt.Fprintln(&found, name)
		}
		return err
	})
	return found.String(), err
}

func grepName() string {
	if _, err := exec.LookPath("rg"); err == nil {
		return "rg"
	}
	return "filepath.WalkDir with regexp"
}

// grep runs rg if installed; otherwise it reads every file.
func grep(ctx context.Context, dir, pattern string) (string, error) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		return readThrough(dir, pattern)
	}
	cmd := exec.CommandContext(ctx, rg, "-n", "-e", pattern, ".")
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil // no matches
	}
	return string(out), err
}

func readThrough(dir, pattern string) (string, error) {
	re, err := regexp.Compile("(?m)^.*" + pattern + ".*$")
	if err != nil {
		return "", err
	}
	var found strings.Builder
	err = walk(dir, func(name string) error {
		data, err := os.ReadFile(filepath.Join(dir, name))
		line, last := 1, 0
		for _, at := range re.FindAllIndex(data, -1) {
			line += bytes.Count(data[last:at[0]], []byte("\n"))
			last = at[0]
			fmt.Fprintf(&found, "%s:%d:%s\n", name, line, data[at[0]:at[1]])
		}
		return err
	})
	return found.String(), err
}

// walk calls visit with every file except git's own, relative to dir.
func walk(dir string, visit func(name string) error) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel))
	})
}
