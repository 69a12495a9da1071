package expand

import (
	"reflect"
	"testing"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expr"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/repolist"
)

func TestHashOfAJobHasEachFieldWithoutAReason(t *testing.T) {
	hash := func(j tasks.Job) string {
		return (&draft{job: j, task: &manifest.Task{}, repo: &repolist.Repo{}}).hash()
	}
	checkFields(t, jobFields, hash)
}

func TestHashOfAPlanHasEachFieldWithoutAReason(t *testing.T) {
	checkFields(t, planFields, func(p tasks.Plan) string {
		return hashPlan(&p, &sharedDefinitions{loaded: &loaded{}, providers: &providerSet{}, agents: &agentSet{}})
	})
}

func checkFields[T any](t *testing.T, decided map[string]string, hash func(T) string) {
	t.Helper()
	var zero T
	fields := reflect.TypeFor[T]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		x := zero
		fill(reflect.ValueOf(&x).Elem().Field(i), 4)
		how, ok := decided[name]
		if !ok {
			t.Errorf("%s has no entry: write whereSet, or why it is not in the hash", name)
		}
		if changed := hash(x) != hash(zero); changed != (how == inHash || how == whereSet) {
			t.Errorf("%s: the hash contains it: %v, its entry: %q", name, changed, how)
		}
	}
	for name := range decided {
		if _, ok := fields.FieldByName(name); !ok {
			t.Errorf("%s is no field of %s", name, fields)
		}
	}
}

// fill gives a value, and what it contains down to a depth, other values than zero.
func fill(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Interface().(type) {
	case *tasks.Condition:
		rest, _ := expr.Parse("repo.has('go.mod')")
		v.Set(reflect.ValueOf(tasks.NewCondition("repo.has('go.mod')", rest)))
		return
	case policy.Set:
		v.Set(reflect.ValueOf(policy.Set{{}}))
		return
	case *form.Uses:
		v.Set(reflect.ValueOf(&form.Uses{}))
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
		fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth-1)
		fill(value, depth-1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, depth-1)
			}
		}
	default: // an interface: nil
	}
}

func TestHashHasANewFieldOnlyWhereItIsSet(t *testing.T) {
	type job struct {
		Old  string
		Name string
		More []string
	}
	decided := map[string]string{"Old": "it is hashed elsewhere", "More": whereSet}
	of := func(j job) string { return withNew("before", &j, decided) }
	if got := of(job{Old: "old"}); got != "before" {
		t.Errorf("hash %q without the new fields, want that of earlier versions", got)
	}
	seen := map[string]job{}
	for _, j := range []job{{}, {Name: "a"}, {Name: "b"}, {More: []string{"a"}}, {Name: "a", More: []string{"a"}}} {
		if same, twice := seen[of(j)]; twice {
			t.Errorf("%+v and %+v have the same hash", same, j)
		}
		seen[of(j)] = j
	}
}
