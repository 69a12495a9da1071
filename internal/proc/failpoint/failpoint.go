// Package failpoint names moments of a run at which tests kill it.
//
// A program that does not call Arm, which is every program except the tests, only reads one
// variable at each of them. No flag, file or environment variable arms them, and a test of
// package house checks that Arm is not in the program.
package failpoint

import (
	"strings"
	"sync/atomic"
)

// Point is the name of a moment. One that happens for several kinds of object is followed by a
// space and the kind, such as "event.before commit.started".
type Point string

// The moments; Names lists them with their kinds.
const (
	EventBefore      Point = "event.before"      // an event is written to events.jsonl
	EventAfter       Point = "event.after"       // and is on disk, if it must be
	JournalBefore    Point = "journal.before"    // a line is written to the journal of a session
	JournalAfter     Point = "journal.after"     //
	FileWritten      Point = "file.written"      // a file that appears atomically is complete, under a temporary name
	FileRenamed      Point = "file.renamed"      // and has its name
	SnapshotBefore   Point = "snapshot.before"   // the state of a worktree is saved
	SnapshotAfter    Point = "snapshot.after"    //
	WorktreeBefore   Point = "worktree.before"   // a worktree is created
	WorktreeAfter    Point = "worktree.after"    //
	WorktreeRemoving Point = "worktree.removing" // a worktree is removed
	WorktreeRemoved  Point = "worktree.removed"  //
	RequestBefore    Point = "request.before"    // a request is sent to a model
	RequestAfter     Point = "request.after"     // and its response is complete
	CallBefore       Point = "call.before"       // a tool call of a kind of tool is dispatched
	CallAfter        Point = "call.after"        //
	CommitStored     Point = "commit.stored"     // the objects of a commit are on disk
	LockTaken        Point = "lock.taken"        // git's lock of a branch is taken
	BranchSet        Point = "branch.set"        // a branch is moved
	PushBefore       Point = "push.before"       // the remote is connected to
	PushSending      Point = "push.sending"      // the objects and the command are sent
	PushSent         Point = "push.sent"         // the remote has answered
	ForgeBefore      Point = "forge.before"      // a write is sent to a forge
	ForgeAfter       Point = "forge.after"       // and its response was received
	RunFinishing     Point = "run.finishing"     // all jobs have ended, and the reports are written
	RunFinished      Point = "run.finished"      // the reports are final
	LockReleased     Point = "lock.released"     // the report directory is released
	ResumeLocked     Point = "resume.locked"     // the report directory of a run that is resumed is locked
	ResumeRead       Point = "resume.read"       // its events are read
	ResumeAppending  Point = "resume.appending"  // the incomplete end of events.jsonl is removed
	ResumeSessions   Point = "resume.sessions"   // the journals of a job's sessions are read
	ResumeRestored   Point = "resume.restored"   // the worktree has the state of the last complete turn
)

// The moments of a job in a queue, which Names does not list: runs without one don't have them.
const (
	ResultBefore Point = "result.before" // the result of a job is added to its log
	ResultLogged Point = "result.logged" // and is stored
	ResultAfter  Point = "result.after"  // and the job is still in the queue
)

var armed atomic.Pointer[func(name string)]

// Arm makes Hit call a function with the names of the points. Only tests call it.
func Arm(hit func(name string)) { armed.Store(&hit) }

// Hit is called at a point, with the kind of object; "" for points without kinds.
func Hit(p Point, kind string) {
	hit := armed.Load()
	if hit == nil {
		return
	}
	name := string(p)
	if kind != "" {
		name += " " + kind
	}
	(*hit)(name)
}

// Names returns the names of all points at which tests kill runs.
func Names() []string {
	var names []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		name, kinds, _ := strings.Cut(strings.TrimSpace(line), ":")
		for kind := range strings.FieldsSeq(kinds) {
			names = append(names, name+" "+kind)
		}
		if kinds == "" {
			names = append(names, name)
		}
	}
	return names
}
