package remote

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

const (
	// maxNewPacks is how many packs a mirror may get before they are combined. Each fetch and each
	// commit of a job adds one, and each open repository holds up to 16 open.
	maxNewPacks = 16

	pruneInterval = 7 * 24 * time.Hour
	pruneAge      = 14 * 24 * time.Hour // as in git gc

	// combineDeadline ends the git program, which leaves the packs as they were.
	combineDeadline = 2 * time.Minute
)

// combine combines the packs of a mirror if many were added since it was last done. Once a week it also
// removes objects that were not needed by any reference or worktree for two weeks.
//
// Other processes use the mirror meanwhile, as a user's repository during git gc: readers list the packs
// again if one is gone, and what they write is younger than two weeks. The lock is inherited by the git
// program, so that no other process updates the mirror until it has ended, even if this one is killed.
//
// A mirror whose packs are not combined is complete, so failures are ignored. They are not repeated before
// more packs were added, also if this process is killed, as for the memory that git needs.
func (m *mirroring) combine(ctx context.Context, lock *os.File) error {
	packs := len(m.state.packs) / 2 // each with its index
	prune := m.env.Now != nil && packs > 1 && m.env.Now().Sub(time.Unix(m.state.pruned, 0)) >= pruneInterval
	if m.env.GitProgram == "" || !prune && packs-m.state.combined <= maxNewPacks {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, combineDeadline)
	defer cancel()
	m.state.packs, m.state.combined = nil, packs // the packs are not known if this process is killed
	if prune {
		m.state.pruned = m.env.Now().Unix()
	}
	if err := m.state.write(m.dir); err != nil {
		return err
	}
	if !prune || m.pruneObjects(ctx, lock) != nil {
		_ = m.repack(ctx, lock, "--geometric=2")
	}
	if err := m.open(); err != nil { // the packs are others
		return err
	}
	return m.recordPacks()
}

// pruneObjects combines all packs. Unneeded objects get into a pack of their own, with the time of the one
// that they are from, and are removed once that is old. Those that were needed until now start to age now.
func (m *mirroring) pruneObjects(ctx context.Context, lock *os.File) error {
	now := m.env.Now()
	packs, err := filepath.Glob(filepath.Join(m.dir, "objects", "pack", "pack-*.pack"))
	if err != nil {
		return err
	}
	for _, pack := range packs {
		if _, err := os.Lstat(strings.TrimSuffix(pack, ".pack") + ".mtimes"); err == nil {
			continue // the times of unneeded objects are in that file
		}
		if err := sharedfile.IgnoreMissing(os.Chtimes(pack, time.Time{}, now)); err != nil {
			return err
		}
	}
	return m.repack(ctx, lock, "-a", "--cruft", "--cruft-expiration="+now.Add(-pruneAge).UTC().Format(time.RFC3339))
}

// repack runs git repack, which makes new packs durable before it removes the old ones.
func (m *mirroring) repack(ctx context.Context, lock *os.File, args ...string) error {
	args = append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "pack.windowMemory=64m", "-c", "repack.writeBitmaps=false",
		"--git-dir=" + m.dir, "repack", "-d", "-q", "-n",
	}, args...)
	cmd := gitdir.Command(ctx, m.env.GitProgram, args...)
	cmd.Dir = m.dir
	cmd.ExtraFiles = []*os.File{lock}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git repack: %w", err)
	}
	return nil
}
