// Package publish pushes the commit of a job with a lease, and creates or updates its pull
// request, which it finds by its branch. It neither makes commits nor knows where they come
// from: a run publishes its jobs with it, and so does "millhand publish" later.
//
// Each effect is announced by an event before it happens, and reported by another one.
package publish
