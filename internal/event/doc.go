// Package event defines the event stream of a run: one JSON object per line in
// events.jsonl, from which every report is made. The package is the stream's
// specification; it neither writes files nor renders anything.
//
// # The stream
//
// Every event has a sequence number (from 1, without gaps, in the order of the
// stream), a wall-clock time, a type and, if applicable, the ids of its job and
// session. The type determines the one payload field that is set; [Types] lists them.
//
// A tool call is reported pending (the model requests it; the input is missing until
// the response is complete), running (it was allowed and started) and then exactly once
// completed, error or denied. A retry or the end of a turn withdraws the turn's calls that
// are still pending: their response broke off or was filtered, or they are the session's
// output. Final events contain everything that delta events and pending and running calls do,
// so a fold may ignore those; deltas are never stored. The metadata of a final call describes its
// result: what does not apply is omitted.
//
// The session of a job has the id RUN/JOB, a session that its task tool started RUN/JOB.task-N,
// with N from 1 in the job. What follows the slash is the name of its transcript.
//
// The last field of a line, crc, is a checksum of the line: the length in bytes of the text
// before it and that text's CRC-32C, in hexadecimal. A line that a kill or a crash left
// incomplete can only be the last one; readers ignore it and say so. Any other invalid line
// means that the file was changed, and readers refuse it.
//
// With evidence, the field prev of each line has the SHA-256 of the line before it, without its
// newline, and the last event is sealed. See [Chain].
//
// A run that is resumed continues the stream of the earlier process with another run.started,
// whose field resumed has the number of finished jobs and their cost. Jobs that had ended and are not run again have no more events.
// A job that continues has another job.started; its session repeats the calls of the turn
// that was interrupted, with the same numbers. A turn whose response was lost has a
// turn.ended with an estimate in lost.
//
// A run that was forked from another has the source in the field forked_from of each
// run.started. Its turns are numbered after those of the copied conversation, which are not in
// its stream.
//
// Consumers must ignore event types and fields that they do not know.
package event
