package manifest

import (
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// signature makes a field refuse signatures that a policy refuses: the key is the operator's.
// signed names what they are of.
func signature(signed string, f form.Field) form.Field {
	read := f.Read
	f.Read = func(v form.Value) {
		t, ok := v.Text()
		if by, refused := v.Src.Policies.RefusesSign(t.S); ok && refused && t.S != "" && t.S != string(tasks.SignNone) {
			v.Refuse(signed+" signed by "+t.S, by)
			return
		}
		read(v)
	}
	return f
}
