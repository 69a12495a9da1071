// Package event defines what a run of millhand says about itself: a stream of
// events, one JSON object a line in events.jsonl, from which every report is
// folded. The package is the stream's specification; it neither writes files
// nor renders anything.
//
// # The stream
//
// Every event has a sequence number (from 1, without gaps, in the order of the
// stream), a wall-clock time, a type and, where they apply, the ids of the job
// and session that it is about. The type names the one payload field that is
// set:
//
//	run.started     run         what will be done: the plan's jobs and its hash
//	job.started     job         a job begins: model, profile, sandbox, workspace
//	phase.ended     phase       one phase of a job (prepare, setup, ...) is over
//	session.started session     a conversation begins
//	attempt.started attempt     a stretch of a session up to a verify begins
//	turn.started    turn        a model call begins
//	text            text        the model's words of a turn, whole
//	delta           delta       a piece of a streaming answer; live only
//	retry           retry       a model request failed and is made again
//	call            call        a tool call changed its status
//	turn.ended      turn        a model call and its tool calls are over
//	prune           prune       the model no longer sees the answers of old calls
//	compaction      compaction  a summary stands for the older part of a conversation
//	session.ended   session     a conversation is over, and how
//	verify.ended    verify      one verify command was run
//	changes         changes     what the job changed in its workspace
//	commit          commit      the job's commit
//	published       published   where the commit was pushed
//	job.ended       job_end     how a job ended, with its totals
//	network         network     a command asked the sandbox's proxy for a connection
//	warning         warning     something the user should know; not an outcome
//	run.ended       run_end     how the run ended
//
// A tool call is reported pending (the model asked for it), running (it was
// allowed and began) and then exactly once completed, error or denied. Delta
// events, and pending and running calls, carry nothing that the final events
// lack, so a fold may ignore them; deltas are never stored.
//
// Consumers must ignore event types and fields that they do not know.
package event
