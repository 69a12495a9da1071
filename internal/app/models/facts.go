package models

import (
	"cmp"
	"context"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
)

// Facts returns the properties of a model. If it is unknown which files a model
// sees, it gets images: a provider that does not support them refuses them.
func (m *Set) Facts(id string) opened.Facts {
	known := m.costs().known(id)
	facts, _ := declared(m.Plan, id)
	f := opened.Facts{
		Images: known.Images || !known.Sees, PDFs: known.PDFs,
		Like: facts.Like, Context: cmp.Or(facts.Window, known.Context), MaxOutput: cmp.Or(facts.MaxOutput, known.MaxOutput),
	}
	if facts.Vision != nil {
		f.Images, f.PDFs = *facts.Vision, *facts.Vision && known.PDFs
	}
	return f
}

// stated is a model of which the manifest states facts that requests depend on. Models that
// reason refuse a temperature, the others an effort; a server's own limit of the output may
// be much smaller than the model's.
type stated struct {
	model.Model
	reasons   *bool
	maxOutput int
}

func (s stated) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	switch {
	case s.reasons == nil:
	case *s.reasons:
		req.Temperature, req.TopP = nil, nil
	default:
		req.Effort = ""
	}
	if s.maxOutput > 0 && (req.MaxOutput == 0 || req.MaxOutput > s.maxOutput) {
		req.MaxOutput = s.maxOutput
	}
	return s.Model.Stream(ctx, req, emit)
}
