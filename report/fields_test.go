package report_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
)

// filled gives a payload, and what it contains, other values than zero.
func filled(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"x":1}`)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(key)
		filled(value)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				filled(field)
			}
		}
	default: // an interface: nil
	}
}

// filledEvents has an event of each type, with every field of its payload, and with what is beside payloads.
func filledEvents() []event.Event {
	var all []event.Event
	others := map[string]bool{"seq": true, "time": true, "type": true, "job": true, "session": true}
	for _, typ := range event.Types() {
		others[typ.Payload] = true
	}
	for _, typ := range event.Types() {
		e := event.Event{Type: typ.Type, Job: "x", Session: "x"}
		v := reflect.ValueOf(&e).Elem()
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name == typ.Payload || !others[name] {
				filled(v.Field(i))
			}
		}
		all = append(all, e)
	}
	return all
}

// addSet adds the paths of all values of a JSON document that are set, and of those that are not.
func addSet(set map[string]bool, path string, doc any) {
	switch doc := doc.(type) {
	case map[string]any:
		for name, value := range doc {
			addSet(set, strings.TrimPrefix(path+"."+name, "."), value)
		}
		set[path] = set[path] || len(doc) > 0
	case []any:
		for _, value := range doc {
			addSet(set, path, value)
		}
		set[path] = set[path] || len(doc) > 0
	default:
		set[path] = set[path] || doc != nil && doc != "" && doc != false && doc != 0.0
	}
}

// TestReportHasEachFieldOfItsEvents requires that each field of a report is set in some report: of the golden ones, or of
// a run whose events have every field. One that is not copied from its event is never set.
func TestReportHasEachFieldOfItsEvents(t *testing.T) {
	set := map[string]bool{}
	add := func(r *report.Report) {
		var doc any
		if err := json.Unmarshal([]byte(reporttest.Render(t, report.JSON, r)), &doc); err != nil {
			t.Fatal(err)
		}
		addSet(set, "", doc)
	}
	events := filledEvents()
	add(reporttest.Fold(t, events...))
	add(reporttest.Fold(t, slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return e.Review != nil })...)) // its session is that of all events
	add(reporttest.Fold(t, slices.DeleteFunc(events, func(e event.Event) bool { return e.Revert != nil })...))               // it withdraws changes
	add(reporttest.Reviewed(t, reporttest.Findings()))
	for _, stream := range reporttest.Streams(t, "testdata") {
		add(reporttest.Load(t, stream))
	}
	var missing []string
	for path, ok := range set {
		if !ok && !strings.Contains(path, ".input.") { // what models write
			missing = append(missing, path)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("never set: %s", strings.Join(missing, ", "))
	}
}
