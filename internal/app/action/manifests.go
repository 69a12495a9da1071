package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/tasks/expand"
)

// Manifests returns the manifests of the inputs, for a process in the working directory.
// It writes a prompt as a manifest to the directory temp, which has to exist. Its error is the
// cause of the context's end if that comes first.
func (in Inputs) Manifests(ctx context.Context, temp string) ([]string, error) {
	if in.Manifest != "" {
		return find(ctx, in.Manifest)
	}
	text := in.Prompt
	if in.PromptFile != "" {
		var err error
		if text, err = abandon.When(ctx, func() (string, error) { return readPrompt(in.PromptFile) }); err != nil {
			return nil, err
		}
	}
	task := in.Task
	task.Text = text
	if in.Schema != "" {
		var err error
		if task.Schema, err = expand.ReadSchema(ctx, in.Schema); err != nil {
			return nil, fmt.Errorf("input output-schema: %w", err)
		}
	}
	f, err := os.CreateTemp(temp, "prompt-*.yaml")
	if err != nil {
		return nil, fmt.Errorf("write the prompt: %w", err)
	}
	_, err = f.Write(task.Manifest())
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("write the prompt: %w", err)
	}
	return []string{f.Name()}, nil
}

// find resolves the input manifest: a line is the path of an existing file, possibly with
// spaces, or a list of paths and patterns.
func find(ctx context.Context, list string) ([]string, error) {
	var words []string
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if _, err := os.Lstat(line); err == nil {
			words = append(words, line)
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	var files []string
	for _, word := range words {
		found, err := match(ctx, word)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// maxFiles is the number of files and directories that the search for a pattern visits at most.
const maxFiles = 1_000_000

// match resolves one path or pattern, in which ** matches any directories. Paths are
// returned unchanged.
func match(ctx context.Context, word string) ([]string, error) {
	if _, err := os.Lstat(word); err == nil || !strings.ContainsAny(word, "*?[{") {
		return []string{named(word)}, nil
	}
	pattern, err := pathglob.Parse(word)
	if err != nil {
		return nil, fmt.Errorf("input manifest: invalid pattern %q: %w", short(word), err)
	}
	found, err := abandon.When(ctx, func() ([]string, error) {
		return pattern.Find(ctx, pathglob.Search{Dir: ".", Files: true, Hidden: true, Follow: true, Limit: maxFiles})
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("input manifest: search for %q: %w", short(word), err)
	case len(found) == 0:
		return nil, fmt.Errorf("input manifest: no file matches %q", short(word))
	}
	for i := range found {
		found[i] = named(filepath.FromSlash(found[i]))
	}
	return found, nil
}

// named returns a path that does not mean standard input.
func named(file string) string {
	if file == "-" {
		return "." + string(filepath.Separator) + file
	}
	return file
}

// maxPrompt is the maximum size of a prompt file, in bytes.
const maxPrompt = 1 << 20

func readPrompt(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("input prompt-file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPrompt+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("input prompt-file: %w", err)
	case len(data) > maxPrompt:
		return "", fmt.Errorf("input prompt-file: %s is larger than 1 MiB", file)
	case !utf8.Valid(data):
		return "", fmt.Errorf("input prompt-file: %s is not UTF-8 text", file)
	case len(bytes.TrimSpace(data)) == 0:
		return "", fmt.Errorf("input prompt-file: %s is empty", file)
	}
	return string(data), nil
}
