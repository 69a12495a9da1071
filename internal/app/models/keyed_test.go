package models

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model"
)

type failing struct{ err error }

func (f failing) Stream(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
	return model.Response{}, f.err
}

// Only a rejected key is reported with its variable; the class stays.
func TestRejectedKeysNameTheirVariable(t *testing.T) {
	for class, want := range map[model.ErrorClass]bool{model.ClassAuth: true, model.ClassRequest: false} {
		k := keyed{failing{&model.Error{Class: class, Status: 401, Err: errors.New("no")}}, "check the key in the environment variable X_KEY"}
		_, err := k.Stream(t.Context(), model.Request{}, nil)
		e := (*model.Error)(nil)
		if !errors.As(err, &e) || e.Class != class || e.Status != 401 || strings.HasSuffix(err.Error(), "no; check the key in the environment variable X_KEY") != want {
			t.Errorf("%s: %v", class, err)
		}
	}
}
