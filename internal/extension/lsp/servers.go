package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Servers are the language servers of a workspace. Their methods may be called concurrently, with absolute paths of files in it.
// The zero value has none.
type Servers struct {
	list  []*Server
	watch *watch
}

// NewServers returns servers for the files of a workspace.
func NewServers(root *os.Root, list ...*Server) *Servers { return &Servers{list, newWatch(root)} }

// Found is what language servers found after an edit.
type Found struct {
	Files []FileErrors // the edited ones first
	Notes []string     // about the servers, one line each
}

// Edits are changes of files in progress, between [Servers.Before] and After.
type Edits struct {
	set     *Servers
	servers []*Server
	files   [][]string // of each server
	of      []*Edit    // likewise; nil if nobody waits for diagnostics
}

// of returns the servers for files.
func (set *Servers) of(paths ...string) (servers []*Server, files [][]string) {
	for _, s := range set.list {
		mine := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !s.serves(p) })
		if len(mine) > 0 {
			servers, files = append(servers, s), append(files, mine)
		}
	}
	return servers, files
}

// serves reports whether a file is for the server, by its extension.
func (s *Server) serves(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return slices.ContainsFunc(s.config.Extensions, func(e string) bool { return strings.HasSuffix(name, strings.ToLower(e)) })
}

// changes notifies the running servers of files that were changed by others.
func (set *Servers) changes() {
	files := set.watch.Changes()
	for _, s := range set.list {
		s.Changed(files)
	}
}

// Opened notifies the servers of a file that was read.
func (set *Servers) Opened(path string) {
	servers, _ := set.of(path)
	if len(servers) > 0 {
		set.changes()
	}
	for _, s := range servers {
		s.Open(path)
	}
}

// Before prepares all servers for a change of files, concurrently: see [Server.Before].
func (set *Servers) Before(ctx context.Context, paths []string) *Edits {
	e := &Edits{set: set}
	e.servers, e.files = set.of(paths...)
	if len(e.servers) == 0 {
		return e
	}
	set.changes()
	if e.servers[0].config.Wait == 0 {
		return e
	}
	e.of = make([]*Edit, len(e.servers))
	var before sync.WaitGroup
	for i, s := range e.servers {
		before.Go(func() { e.of[i] = s.Before(ctx, e.files[i]) })
	}
	before.Wait()
	return e
}

// After returns the errors that are new, for which it asks all servers concurrently.
func (e *Edits) After(ctx context.Context) (found Found) {
	if len(e.servers) == 0 {
		return found
	}
	e.set.changes()
	if e.of == nil {
		for i, s := range e.servers {
			s.Open(e.files[i]...)
		}
		return found
	}
	all, timedOut := make([][]FileErrors, len(e.of)), make([]bool, len(e.of))
	var after sync.WaitGroup
	for i := range e.of {
		after.Go(func() { all[i], timedOut[i] = e.of[i].After(ctx) })
	}
	after.Wait()
	for i, s := range e.servers {
		found.Files = append(found.Files, all[i]...)
		if text := e.of[i].Logged(); text != "" {
			found.Notes = append(found.Notes, fmt.Sprintf("the language server %s logged an error, so its diagnostics may be incomplete: %s", s.config.Name, text))
		}
		if timedOut[i] {
			found.Notes = append(found.Notes, fmt.Sprintf("no diagnostics from the language server %s within %s", s.config.Name, s.config.Wait))
		}
	}
	slices.SortStableFunc(found.Files, func(a, b FileErrors) int {
		switch {
		case a.Edited == b.Edited:
			return 0
		case a.Edited:
			return -1
		}
		return 1
	})
	return found
}

// Query asks the server for a file, and returns its name.
func (set *Servers) Query(ctx context.Context, q Query) (results []json.RawMessage, server string, err error) {
	servers, _ := set.of(q.Path)
	if len(servers) == 0 {
		return nil, "", fmt.Errorf("no language server for %s files is configured", extensionOf(q.Path))
	}
	set.changes()
	s := servers[0]
	results, err = s.Query(ctx, q)
	return results, s.config.Name, err
}

// extensionOf returns the extension of a path, or its name if it has none.
func extensionOf(path string) string {
	if ext := filepath.Ext(path); ext != "" {
		return ext
	}
	return filepath.Base(path)
}
