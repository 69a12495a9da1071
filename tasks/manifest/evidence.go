package manifest

import (
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

func evidenceKeys(e *tasks.Evidence) form.Table {
	return form.Table{
		{Name: "sign", Field: signature("evidence", form.Into(&e.Sign, form.OneOf([]tasks.Sign{tasks.SignNone, tasks.SignSSH}))), Def: "none", Doc: "Signature of evidence.intoto.json: ssh, with the key in MILLHAND_SIGNING_KEY; none: by something else, such as actions/attest"},
	}
}
