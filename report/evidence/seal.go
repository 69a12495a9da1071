package evidence

import (
	"cmp"
	"io/fs"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
)

// Seal hashes the files of a report directory whose reports are written. heads are those of the
// jobs; others are files to name in addition to those of every run.
func Seal(files fs.FS, others []string, run *event.Run, rep *report.Report, heads map[string]string) (*event.Seal, error) {
	hashed, err := hashFiles(files, others)
	if err != nil {
		return nil, err
	}
	seal, err := SealOf(run, rep)
	if err != nil {
		return nil, err
	}
	seal.Files, seal.Heads = hashed, heads
	return seal, nil
}

// SealOf returns what the seal of a run repeats from its start and its report.
func SealOf(run *event.Run, rep *report.Report) (*event.Seal, error) {
	responded, err := models(rep)
	return &event.Seal{
		Sign: run.Evidence.Sign, Manifests: append([]event.PolicyFile{}, run.Evidence.Manifests...), Policies: append([]event.PolicyFile{}, run.Policies...),
		Models: responded, StartedBy: run.StartedBy,
	}, err
}

// models returns the models that responded.
func models(rep *report.Report) ([]string, error) {
	names := []string{}
	for i := range rep.Jobs {
		j, err := rep.Jobs[i].Complete()
		if err != nil {
			return nil, err
		}
		for _, s := range j.Sessions {
			for _, t := range s.TurnCosts {
				if name := cmp.Or(t.Served, t.Model); name != "" && t.Finish != "" {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
