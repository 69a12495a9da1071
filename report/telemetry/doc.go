// Package telemetry converts reports of runs to OpenTelemetry traces and metrics, and sends
// them by the SDK of OpenTelemetry: http/protobuf, http/json and gRPC.
//
// The ids of spans follow from the run's id and the names of jobs, sessions, turns and calls, and
// their times are those of the report: two conversions of a run are equal, and a run that is
// resumed has no second span for the same thing. Texts of prompts, messages, arguments and
// results are not exported.
//
// Of the SDK it uses encoding, transports, retries, batches, sampling and aggregation. Its own are
// the check of variables, whose warnings name them without their values, the wait for
// a collector that can't be reached, and the JSON of metrics, which the SDK does not
// send (1.47.0).
package telemetry
