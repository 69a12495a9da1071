// Package kinds is the table of providers: a row has everything that is known of one by its name, which tasks, wires,
// prices, the conversion of OpenCode's configuration, telemetry and the documents read. It sends nothing, and reads
// no environment: a row names the variables, and the wiring reads them. Which wire a kind speaks, and how its
// requests differ, is in package provider.
package kinds
