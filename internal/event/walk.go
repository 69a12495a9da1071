package event

import (
	"reflect"
	"strings"
	"sync"
)

// Walk is what a fold does with each type of events: On has its functions, and Ignores the types that it has no use for. Together
// they are all types, in each fold: a new type fails a test until every fold has decided about it.
type Walk[H any] struct {
	On      map[Type]H
	Ignores []Type
}

// Of returns the function for a type; false for one that is ignored, and for those of newer versions.
func (w Walk[H]) Of(t Type) (H, bool) {
	h, ok := w.On[t]
	return h, ok
}

// Find is [Walk.Of] the type of an event that has its payload; false for an event without it, which no version has written.
func (w Walk[H]) Find(e *Event) (H, bool) {
	if !e.Complete() {
		var none H
		return none, false
	}
	return w.Of(e.Type)
}

// Complete reports whether the event has the payload of its type. Lists may be empty.
func (e *Event) Complete() bool {
	row, ok := rows()[e.Type]
	if !ok {
		return false
	}
	payload := reflect.ValueOf(e).Elem().Field(row.field)
	return payload.Kind() != reflect.Pointer || !payload.IsNil()
}

// Durable reports whether events of a type must be stored before the run continues.
func (t Type) Durable() bool { return rows()[t].Durable }

// row is a type with the index of its payload in [Event].
type row struct {
	TypeInfo
	field int
}

var rows = sync.OnceValue(func() map[Type]row {
	fields := map[string]int{}
	for i, e := 0, reflect.TypeFor[Event](); i < e.NumField(); i++ {
		name, _, _ := strings.Cut(e.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	all := map[Type]row{}
	for _, info := range Types() {
		all[info.Type] = row{info, fields[info.Payload]}
	}
	return all
})
