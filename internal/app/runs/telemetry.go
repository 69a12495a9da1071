package runs

import (
	"context"
	"time"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/telemetry"
)

// telemetryPatience is how long a run waits for the endpoints of OpenTelemetry at its end.
const telemetryPatience = 5 * time.Second

// exporter returns the exporter of OpenTelemetry that the environment configures, nil for
// none, and warnings about variables.
func exporter(ctx context.Context, w world.World, run string, fold *report.Fold) (*telemetry.Exporter, []string) {
	c, warnings := telemetry.ReadConfig(w.Getenv)
	return telemetry.New(ctx, telemetry.Options{
		Config: c, Run: run, Version: w.Version, Proxy: w.Proxy, Fold: fold, Patience: telemetryPatience,
	}), warnings
}

// finish sends the rest of the telemetry; a signal ends the wait. A failure is a warning in the log: the reports are
// complete, and independent of it.
func finish(ctx context.Context, x *telemetry.Exporter, log event.Sink, w world.World) {
	if warning := x.Finish(ctx); warning != "" {
		log.Emit(event.Event{Type: event.WarningIssued, Time: w.Now(), Warning: &event.Warning{Message: warning}}) //nolint:errcheck // the log never fails
	}
}
