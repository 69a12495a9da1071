package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// values reads what every value has: a type, and perhaps fixed values.
func (r *reader) values() {
	first := func(check rule) { r.n.first = append(r.n.first, check) }
	if _, ok := r.m["type"]; ok {
		names := r.types()
		first(func(f *frame) {
			got := typeOf(f.value)
			if slices.Contains(names, got) {
				return
			}
			if d, ok := number(f.value); ok && d.integer() && slices.Contains(names, "integer") {
				return
			}
			f.fault(&Type{got, names})
		})
	}
	if v, ok := r.m["const"]; ok && r.draft() >= draft6 {
		first(oneOf([]any{v}))
	}
	if values, ok := value[[]any](r, "enum", "array"); ok {
		first(oneOf(values))
	}
}

// oneOf returns a rule that allows only some values.
func oneOf(values []any) rule {
	allowed := map[string]bool{}
	for _, v := range values {
		allowed[key(v)] = true
	}
	return func(f *frame) {
		k := key(f.value)
		f.run.spend(len(k) / 16)
		if !allowed[k] {
			f.fault(&Enum{f.value, values})
		}
	}
}

// objects reads the keywords of objects.
func (r *reader) objects() {
	least, most := r.count("minProperties", 0), r.count("maxProperties", math.MaxInt)
	list, _ := value[[]any](r, "required", "array")
	required := r.texts(list, r.n.at.child("required"))
	limits := onObject(func(f *frame, obj map[string]any) {
		if len(obj) < least {
			f.faultf("minProperties: got %d, want %d", len(obj), least)
		}
		if len(obj) > most {
			f.faultf("maxProperties: got %d, want %d", len(obj), most)
		}
		f.run.spend(len(required) / 16)
		if missing := missing(obj, required); missing != nil {
			f.fault(&Required{missing})
		}
	})
	if least > 0 || most < math.MaxInt || required != nil {
		r.rule(limits)
	}
	props, additional := r.schemas("properties"), r.schema("additionalProperties")
	patterns := map[string]*pattern{}
	matching := r.schemas("patternProperties")
	for text := range matching {
		if p := r.pattern(text, r.n.at.child("patternProperties").child(text)); p != nil {
			patterns[text] = p
		}
	}
	order := slices.Sorted(maps.Keys(patterns))
	if props != nil || additional != nil || matching != nil {
		r.rule(onObject(func(f *frame, obj map[string]any) {
			f.run.spend(len(obj))
			var unknown []string
			for _, name := range slices.Sorted(maps.Keys(obj)) {
				at, known := &step{up: f.at, key: name}, false
				if sub := props[name]; sub != nil {
					known = true
					f.descend(sub, obj[name], at)
				}
				for _, text := range order {
					if f.matches(patterns[text], name) {
						known = true
						f.descend(matching[text], obj[name], at)
					}
				}
				switch {
				case known || additional == nil:
				case additional.never:
					unknown = append(unknown, name)
				default:
					f.descend(additional, obj[name], at)
				}
				if known || additional != nil {
					f.seen.property(name)
				}
			}
			if unknown != nil {
				f.fault(&AdditionalProperties{unknown})
			}
		}))
	}
	if r.draft() >= draft6 {
		r.propertyNames()
	}
}

func (r *reader) propertyNames() {
	names := r.schema("propertyNames")
	if names == nil {
		return
	}
	r.rule(onObject(func(f *frame, obj map[string]any) {
		for _, name := range slices.Sorted(maps.Keys(obj)) {
			if faults, _ := f.run.check(names, name, nil, f, false); faults != nil {
				f.faultf("invalid property name %s: %s", quote(name), faults[0].kind)
			}
		}
	}))
}

// missing returns the names that an object lacks.
func missing(obj map[string]any, names []string) []string {
	var all []string
	for _, name := range names {
		if _, ok := obj[name]; !ok {
			all = append(all, name)
		}
	}
	return all
}

// dependencies reads what follows from a property.
func (r *reader) dependencies() {
	keywords := []string{"dependencies"}
	if r.draft() >= draft2019 {
		keywords = []string{"dependencies", "dependentRequired", "dependentSchemas"}
	}
	for _, keyword := range keywords {
		m, _ := value[map[string]any](r, keyword, "object")
		for _, name := range slices.Sorted(maps.Keys(m)) {
			at := r.n.at.child(keyword).child(name)
			list, isList := m[name].([]any)
			switch {
			case keyword == "dependentRequired" && !isList:
				r.c.fault(at, &Type{typeOf(m[name]), []string{"array"}})
			case isList && keyword != "dependentSchemas":
				r.dependentRequired(name, r.texts(list, at))
			default:
				r.dependentSchema(name, r.sub(m[name], at))
			}
		}
	}
}

func (r *reader) dependentRequired(name string, required []string) {
	r.rule(onObject(func(f *frame, obj map[string]any) {
		if _, ok := obj[name]; !ok {
			return
		}
		if missing := missing(obj, required); missing != nil {
			f.faultf("properties %s required, if %s exists", quoteAll(missing), quote(name))
		}
	}))
}

func (r *reader) dependentSchema(name string, sub *node) {
	r.direct(sub)
	r.rule(onObject(func(f *frame, obj map[string]any) {
		if _, ok := obj[name]; ok {
			f.apply(sub)
		}
	}))
}

// arrays reads the keywords of arrays.
func (r *reader) arrays() {
	least, most, unique := r.count("minItems", 0), r.count("maxItems", math.MaxInt), r.flag("uniqueItems")
	limits := onArray(func(f *frame, list []any) {
		if len(list) < least {
			f.faultf("minItems: got %d, want %d", len(list), least)
		}
		if len(list) > most {
			f.faultf("maxItems: got %d, want %d", len(list), most)
		}
		if unique {
			f.unique(list)
		}
	})
	if least > 0 || most < math.MaxInt || unique {
		r.rule(limits)
	}
	if prefix, rest := r.items(); prefix != nil || rest != nil {
		r.rule(onArray(func(f *frame, list []any) {
			for i, item := range list {
				switch {
				case i < len(prefix):
					f.descend(prefix[i], item, &step{up: f.at, index: i + 1})
				case rest == nil:
				case rest.never:
					f.faultf("last %d items not allowed", len(list)-i)
					return
				default:
					f.descend(rest, item, &step{up: f.at, index: i + 1})
				}
			}
			f.seen.itemsTo(len(prefix), rest != nil)
		}))
	}
	if r.draft() >= draft6 {
		r.contains()
	}
}

// items returns the schemas of the first items and that of the others.
func (r *reader) items() (prefix []*node, rest *node) {
	if r.draft() >= draft2020 {
		return r.list("prefixItems"), r.schema("items")
	}
	if list, ok := r.m["items"].([]any); ok {
		if len(list) > 0 {
			prefix = r.list("items")
		}
		return prefix, r.schema("additionalItems")
	}
	r.unusedSchema("additionalItems")
	return nil, r.schema("items")
}

func (r *reader) contains() {
	sub := r.schema("contains")
	least, most := 1, math.MaxInt
	if r.draft() >= draft2019 {
		least, most = r.count("minContains", 1), r.count("maxContains", math.MaxInt)
	}
	if sub == nil {
		return
	}
	counts := r.draft() >= draft2020 // as an evaluation of the item
	r.rule(onArray(func(f *frame, list []any) {
		n := 0
		for i, item := range list {
			if f.passes(sub, item, false) {
				n++
				if counts {
					f.seen.item(i)
				}
			}
		}
		switch {
		case n < least && n == 0:
			f.faultf("no items match contains schema")
		case n < least:
			f.faultf("min %d items required to match contains schema, but matched %d", least, n)
		case n > most:
			f.faultf("max %d items required to match contains schema, but matched %d", most, n)
		}
	}))
}

// strings reads the keywords of strings.
func (r *reader) strings() {
	least, most := r.count("minLength", 0), r.count("maxLength", math.MaxInt)
	var p *pattern
	if text, ok := r.text("pattern"); ok {
		p = r.pattern(text, r.n.at.child("pattern"))
	}
	if least == 0 && most == math.MaxInt && p == nil {
		return
	}
	r.rule(func(f *frame) {
		s, ok := f.value.(string)
		if !ok {
			return
		}
		f.run.spend(len(s) / 64)
		n := utf8.RuneCountInString(s)
		if n < least {
			f.faultf("minLength: got %d, want %d", n, least)
		}
		if n > most {
			f.faultf("maxLength: got %d, want %d", n, most)
		}
		if p != nil && !f.matches(p, s) {
			f.faultf("%s does not match pattern %s", quote(s), quote(p.String()))
		}
	})
}

// numbers reads the keywords of numbers.
func (r *reader) numbers() {
	r.limit("minimum", func(c int) bool { return c >= 0 })
	r.limit("maximum", func(c int) bool { return c <= 0 })
	if r.draft() >= draft6 {
		r.limit("exclusiveMinimum", func(c int) bool { return c > 0 })
		r.limit("exclusiveMaximum", func(c int) bool { return c < 0 })
	}
	of, ok := r.number("multipleOf")
	switch {
	case ok && of.sign() <= 0:
		r.c.fault(r.n.at.child("multipleOf"), Other(fmt.Sprintf("exclusiveMinimum: got %s, want 0", of.text)))
	case ok:
		r.rule(onNumber(func(f *frame, d decimal) {
			f.run.spend((len(d.digits) + len(of.digits)) * (len(d.digits) + len(of.digits)) / 1024)
			if f.run.exceeded == "" && !d.multipleOf(of) {
				f.faultf("multipleOf: got %s, want %s", d.text, of.text)
			}
		}))
	}
}

// limit reads a limit of numbers; allowed gets the comparison of a number with it.
func (r *reader) limit(name string, allowed func(int) bool) {
	limit, ok := r.number(name)
	if !ok {
		return
	}
	shown := name
	if exclusive := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[name]; r.draft() == draft4 && r.flag(exclusive) {
		inclusive := allowed
		allowed, shown = func(c int) bool { return c != 0 && inclusive(c) }, exclusive
	}
	r.rule(onNumber(func(f *frame, d decimal) {
		if !allowed(d.compare(limit)) {
			f.faultf("%s: got %s, want %s", shown, d.text, limit.text)
		}
	}))
}

// logic reads combinations of schemas.
func (r *reader) logic() {
	if all := r.direct(r.list("allOf")...); len(all) > 0 {
		r.rule(func(f *frame) {
			for _, sub := range all {
				f.apply(sub)
			}
		})
	}
	if all := r.direct(r.list("anyOf")...); len(all) > 0 {
		r.rule(func(f *frame) { f.anyOf(all) })
	}
	if all := r.direct(r.list("oneOf")...); len(all) > 0 {
		r.rule(func(f *frame) { f.oneOf(all) })
	}
	if not := r.schema("not"); not != nil {
		r.direct(not)
		r.rule(func(f *frame) {
			if f.passes(not, f.value, false) {
				f.faultf("'not' failed")
			}
		})
	}
	if r.draft() < draft7 {
		return
	}
	condition := r.schema("if")
	if condition == nil {
		r.unusedSchema("then")
		r.unusedSchema("else")
		return
	}
	then, otherwise := r.schema("then"), r.schema("else")
	r.direct(condition, then, otherwise)
	r.rule(func(f *frame) {
		if f.passes(condition, f.value, true) {
			f.apply(then)
		} else {
			f.apply(otherwise)
		}
	})
}

// unevaluated reads the keywords for what no other keyword has evaluated.
func (r *reader) unevaluated() {
	if r.draft() < draft2019 {
		return
	}
	props, items := r.schema("unevaluatedProperties"), r.schema("unevaluatedItems")
	r.n.unevaluated = props != nil || items != nil
	if props != nil {
		r.rule(onObject(func(f *frame, obj map[string]any) {
			f.run.spend(len(obj))
			for _, name := range slices.Sorted(maps.Keys(obj)) {
				if !f.seen.props[name] && f.faults == nil {
					f.descend(props, obj[name], &step{up: f.at, key: name})
				}
			}
			f.seen.property(slices.Collect(maps.Keys(obj))...)
		}))
	}
	if items != nil {
		r.rule(onArray(func(f *frame, list []any) {
			for i, item := range list {
				if !f.seen.hasItem(i) && f.faults == nil {
					f.descend(items, item, &step{up: f.at, index: i + 1})
				}
			}
			f.seen.itemsTo(0, true)
		}))
	}
}
