package credentials

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
)

// A checkout by a CI system may leave credentials in the repository's
// configuration, as http.URL.extraheader: versions 4 and 5 of actions/checkout
// do, and version 6 in a file that the configuration includes. Agents could
// read them there.

// header is one such setting.
type header struct {
	url   string // URL prefix that it applies to; "" for all
	value string // name and value, for example "AUTHORIZATION: basic ..."
}

// authorization returns the value of an Authorization header, "" for other
// headers.
func (h header) authorization() string {
	name, value, _ := strings.Cut(h.value, ":")
	if !strings.EqualFold(strings.TrimSpace(name), "authorization") {
		return ""
	}
	return strings.TrimSpace(value)
}

// goesWith reports whether git would send the header with a request to a URL.
func (h header) goesWith(url string) bool {
	if h.url == "" {
		return true
	}
	of, err := remote.ParseAddress(strings.TrimSuffix(h.url, "/"))
	to, err2 := remote.ParseAddress(url)
	if err != nil || err2 != nil || of.Scheme != to.Scheme || !strings.EqualFold(of.Host, to.Host) {
		return false
	}
	rest, ok := strings.CutPrefix(to.Path, strings.TrimSuffix(of.Path, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// Authorization returns the Authorization header that the repository's
// configuration sends to a URL, or "". The most specific setting wins.
func Authorization(git *gitdir.Dir, url string) (string, error) {
	all, err := headers(git)
	if err != nil {
		return "", err
	}
	best, found := "", ""
	for _, h := range all {
		if value := h.authorization(); value != "" && h.goesWith(url) && len(h.url) >= len(best) {
			best, found = h.url, value
		}
	}
	return found, nil
}

// Secrets returns the credentials in the repository's configuration: those of
// its headers and of its remotes' URLs.
func Secrets(git *gitdir.Dir) ([]string, error) {
	all, err := headers(git)
	if err != nil {
		return nil, err
	}
	var secrets []string
	for _, h := range all {
		value := h.authorization()
		if value == "" {
			_, value, _ = strings.Cut(h.value, ":")
		}
		scheme, rest, ok := strings.Cut(strings.TrimSpace(value), " ")
		if !ok {
			rest = scheme
		}
		secrets = append(secrets, passwordOf(strings.TrimSpace(rest)))
	}
	for _, f := range git.Config {
		for _, section := range []string{"remote", "url"} {
			for _, name := range f.Subsections(section) {
				urls := append(f.Values(section, name, "url"), f.Values(section, name, "pushurl")...)
				for _, url := range append(urls, name) {
					if at, err := remote.ParseAddress(url); err == nil && at.Password != "" {
						secrets = append(secrets, at.Password)
					}
				}
			}
		}
	}
	return secrets, nil
}

// passwordOf returns the password of basic credentials, and other values
// unchanged.
func passwordOf(credentials string) string {
	if text, err := base64.StdEncoding.DecodeString(credentials); err == nil {
		if _, password, ok := strings.Cut(string(text), ":"); ok {
			return password
		}
	}
	return credentials
}

// headers reads the headers of the repository, of its submodules, and of the
// files that actions/checkout includes in the configuration.
func headers(git *gitdir.Dir) ([]header, error) {
	files, err := headerFiles(git)
	if err != nil {
		return nil, err
	}
	var all []header
	for _, name := range append(files, includedFiles(git)...) {
		f, err := gitdir.ReadConfigFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, headersOf(f)...)
	}
	return all, nil
}

func headersOf(f gitdir.ConfigFile) []header {
	var all []header
	for _, url := range append([]string{""}, f.Subsections("http")...) {
		for _, v := range f.Values("http", url, "extraheader") {
			all = append(all, header{url, v})
		}
	}
	return all
}

// worktreeFile is the configuration of one work tree (extensions.worktreeConfig).
const worktreeFile = "config.worktree"

// headerFiles lists the configuration files of the repository, its work trees and its
// submodules.
func headerFiles(git *gitdir.Dir) ([]string, error) {
	files := []string{filepath.Join(git.Common, "config")}
	for _, pattern := range []string{worktreeFile, "worktrees/*/" + worktreeFile} {
		own, err := fs.Glob(os.DirFS(git.Common), pattern)
		if err != nil {
			return nil, fmt.Errorf("find git configuration: %w", err)
		}
		for _, name := range own {
			files = append(files, filepath.Join(git.Common, name))
		}
	}
	err := filepath.WalkDir(filepath.Join(git.Common, "modules"), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "objects" || d.Name() == "refs" || d.Name() == "logs" || d.Name() == "hooks"):
			return fs.SkipDir
		case d.Type().IsRegular() && (d.Name() == "config" || d.Name() == worktreeFile):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find git configuration: %w", err)
	}
	return files, nil
}

// checkoutFile is the file name prefix of version 6 of actions/checkout. Other
// included files are ignored.
const checkoutFile = "git-credentials-"

func includedFiles(git *gitdir.Dir) []string {
	f, err := git.LocalConfig()
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	var files []string
	for _, condition := range f.Subsections("includeif") {
		for _, name := range f.Values("includeif", condition, "path") {
			if filepath.IsAbs(name) && strings.HasPrefix(filepath.Base(name), checkoutFile) && !seen[name] {
				seen[name] = true
				files = append(files, name)
			}
		}
	}
	return files
}

// Hide removes the headers from the configuration files of the repository and
// its submodules. putBack restores them. They are held only in memory, so they
// are lost if the process is killed.
func Hide(ctx context.Context, git *gitdir.Dir) (putBack func(context.Context) error, err error) {
	var undo []func(context.Context) error
	putBack = func(ctx context.Context) error {
		var errs []error
		for _, u := range undo {
			errs = append(errs, u(ctx))
		}
		undo = nil // a second call would duplicate them
		return errors.Join(errs...)
	}
	files, err := headerFiles(git)
	if err != nil {
		return putBack, err
	}
	for _, name := range files {
		before, after, err := rewrite(ctx, git.Env, name, withoutHeaders)
		if err != nil {
			return putBack, errors.Join(fmt.Errorf("remove credentials from %s: %w", name, err), putBack(ctx))
		}
		if bytes.Equal(before, after) {
			continue
		}
		undo = append(undo, func(ctx context.Context) error {
			_, _, err := rewrite(ctx, git.Env, name, func(now []byte) ([]byte, error) { return withHeaders(now, before, after) })
			if err != nil {
				return fmt.Errorf("restore credentials in %s: %w", name, err)
			}
			return nil
		})
	}
	return putBack, nil
}

// rewrite modifies a configuration file under its lock, if its content changes.
func rewrite(ctx context.Context, env gitdir.Env, name string, change func([]byte) ([]byte, error)) (before, after []byte, err error) {
	if before, err = sharedfile.Read(name); err == nil {
		after, err = change(before)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil || bytes.Equal(before, after) {
		return before, after, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	l, err := gitdir.Lock(ctx, name, env)
	if err != nil {
		return nil, nil, err
	}
	defer l.Release()
	if before, err = sharedfile.Read(name); err == nil { // read again under the lock
		after, err = change(before)
	}
	if err == nil {
		err = l.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = l.Write(after)
	}
	if err != nil {
		return nil, nil, err
	}
	return before, after, l.Commit()
}

// withHeaders returns a configuration with its headers restored. If it changed
// in the meantime, they are appended.
func withHeaders(now, before, after []byte) ([]byte, error) {
	if bytes.Equal(now, after) {
		return before, nil
	}
	f, err := gitdir.ParseConfig(before)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(bytes.Clone(now))
	for _, h := range headersOf(f) {
		section := "[http]"
		if h.url != "" {
			section = fmt.Sprintf("[http %q]", h.url)
		}
		fmt.Fprintf(out, "\n%s\n\textraheader = %q\n", section, h.value)
	}
	return out.Bytes(), nil
}

// withoutHeaders returns a configuration without the headers and otherwise
// unchanged. It fails if it can't locate one.
func withoutHeaders(data []byte) ([]byte, error) {
	f, err := gitdir.ParseConfig(data)
	if err != nil || len(headersOf(f)) == 0 {
		return data, err
	}
	var out bytes.Buffer
	inHTTP := false
	for rest := data; len(rest) > 0; {
		line := logicalLine(rest)
		rest = rest[len(line):]
		setting := bytes.TrimSpace(line)
		if bytes.HasPrefix(setting, []byte("[")) {
			name := strings.ToLower(string(bytes.TrimSpace(setting[1:])))
			inHTTP = strings.HasPrefix(name, "http") && len(name) > 4 && strings.ContainsAny(name[4:5], " \t\".]")
		}
		if !inHTTP || !isHeader(setting) {
			out.Write(line)
		}
	}
	if f, err = gitdir.ParseConfig(out.Bytes()); err == nil && len(headersOf(f)) > 0 {
		err = errors.New("unsupported syntax")
	}
	return out.Bytes(), err
}

func isHeader(setting []byte) bool {
	name, _, _ := bytes.Cut(setting, []byte("="))
	return strings.EqualFold(string(bytes.TrimSpace(name)), "extraheader")
}

// logicalLine returns a line with its continuation lines.
func logicalLine(data []byte) []byte {
	comment := bytes.IndexAny(bytes.TrimLeft(data, " \t"), "#;") == 0
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return data
		}
		at += i + 1
		if comment {
			return data[:at]
		}
		if text := bytes.TrimSuffix(data[:at-1], []byte("\r")); (len(text)-len(bytes.TrimRight(text, `\`)))%2 == 0 {
			return data[:at]
		}
	}
}
