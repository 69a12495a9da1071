package tasks

import (
	"slices"

	"github.com/millhand/millhand/tasks/form"
)

// Evidence is how a run proves what it did: its events are chained, and its report directory
// is sealed.
type Evidence struct {
	Sign Sign     // SignNone or SignSSH
	Sums []string `json:"-"` // SHA-256 of each manifest of the plan, in hexadecimal
}

// Signed reports whether the evidence is signed; false for nil.
func (e *Evidence) Signed() bool { return e != nil && e.Sign == SignSSH }

func evidenceKeys(e *Evidence) form.Table {
	return form.Table{
		{Name: "sign", Field: signature("evidence", form.Into(&e.Sign, form.OneOf([]Sign{SignNone, SignSSH}))), Def: "none", Doc: "Signature of evidence.intoto.json: ssh, with the key in MILLHAND_SIGNING_KEY; none: by something else, such as actions/attest"},
	}
}

// equipEvidence sets the evidence of a plan: that of all manifests together is signed if any of
// them states it.
func equipEvidence(b *builder, p *Plan) {
	for _, m := range b.manifests {
		if m.proof.Node == nil {
			continue
		}
		if p.Evidence == nil {
			p.Evidence = &Evidence{Sign: SignNone, Sums: slices.Clone(b.sums)}
		}
		if m.evidence.Signed() {
			p.Evidence.Sign = SignSSH
		}
	}
}
