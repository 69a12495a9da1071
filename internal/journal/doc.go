// Package journal stores the conversation of a session, one JSON object a line, so that
// the session can be read later and continued after a kill. A line has a type:
//
//   - session: a conversation starts, with its system prompt. Another one in the same file
//     is a job that was started again: the conversation before it is history.
//   - message: a message was added. One with the id of an earlier message replaces it: its
//     text was removed or shortened to save space.
//   - compaction: a summary replaced the messages from one id to another.
//   - resume: another process continues after a message. Messages after it are history:
//     results of calls that are repeated, or turns that were reverted. The message may have
//     been compacted, or removed by an earlier resume: then the conversation is the one in
//     which it was the last message.
//   - turn: a turn is complete, with the state of the workspace as a tree of git.
//
// Lines of unknown types are ignored. The last line may be incomplete after a kill. The package opens no files,
// and decides nothing about how a session continues.
package journal
