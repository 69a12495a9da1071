package failpoint

// table lists the points that the tests' run hits, and, after a colon, their kinds: the types of
// events (with the name of a phase), the lines of journals, files of the report directory, tools,
// methods of requests. A kind that is missing here fails the test when it is hit.
const table = `
event.before: run.started job.started
event.before: phase.started.prepare phase.started.setup phase.started.baseline phase.started.session
event.before: phase.started.disk phase.started.changes phase.started.commit phase.started.publish
event.before: phase.ended.prepare phase.ended.setup phase.ended.baseline phase.ended.session
event.before: phase.ended.disk phase.ended.changes phase.ended.commit phase.ended.publish
event.before: command.started command.ended baseline.ended session.started attempt.started
event.before: turn.started text call turn.ended session.ended verify.ended model.escalated review.ended ablation.started trial ablation.ended changes
event.before: commit.started commit publish.started published pull_request.started
event.before: job.ended run.ended
event.after: run.started job.started
event.after: phase.started.prepare phase.started.setup phase.started.baseline phase.started.session
event.after: phase.started.disk phase.started.changes phase.started.commit phase.started.publish
event.after: phase.ended.prepare phase.ended.setup phase.ended.baseline phase.ended.session
event.after: phase.ended.disk phase.ended.changes phase.ended.commit phase.ended.publish
event.after: command.started command.ended baseline.ended session.started attempt.started
event.after: turn.started text call turn.ended session.ended verify.ended model.escalated review.ended ablation.started trial ablation.ended changes
event.after: commit.started commit publish.started published pull_request.started
event.after: job.ended run.ended
journal.before: session message turn resume
journal.after: session message turn resume
file.written: patches report.json junit.xml summary.md failed.txt report.html
file.renamed: patches report.json junit.xml summary.md failed.txt report.html
snapshot.before
snapshot.after
worktree.before
worktree.after
worktree.removing
worktree.removed
request.before
request.after
call.before: read write bash task
call.after: read write bash task
commit.stored
lock.taken
branch.set
push.before
push.sending
push.sent
forge.before: POST
forge.after: POST
run.finishing
run.finished
lock.released
resume.locked
resume.read
resume.appending
resume.sessions
resume.restored
`
