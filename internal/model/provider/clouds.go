package provider

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/anthropic"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/wire"
)

// cloudURL returns the base URL of a cloud in the region of its login; "" for other kinds.
func (c Config) cloudURL() string {
	if c.AWS != nil {
		return c.AWS.URL("bedrock-runtime")
	}
	switch c.Region {
	case "":
		return ""
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + c.Region + ".rep.googleapis.com"
	}
	return "https://" + c.Region + "-aiplatform.googleapis.com"
}

// cloud returns a model of Anthropic that a cloud serves.
func (c Config) cloud(kind Kind, o wire.Options, d anthropic.Dialect) (model.Model, error) {
	if err := withoutPath(o.BaseURL); err != nil {
		return nil, fmt.Errorf("provider kind %s: %w", kind.Name, err)
	}
	if !strings.Contains(c.Model, "claude") && !strings.HasPrefix(c.Model, "arn:") {
		return nil, fmt.Errorf("provider kind %s has only models of Anthropic, with claude in their names, not %s", kind.Name, c.Model)
	}
	if kind.Cloud == kinds.Google {
		if c.APIKey == "" && c.Keys == nil {
			return nil, fmt.Errorf("provider kind %s requires a login or a token", kind.Name)
		}
		return anthropic.Vertex(o, d, c.Region, c.Project)
	}
	var conf aws.Config
	if c.AWS != nil {
		conf = c.AWS.Config
	}
	if c.APIKey == "" && c.Keys == nil {
		if c.AWS == nil {
			return nil, fmt.Errorf("provider kind %s requires a login or a key", kind.Name)
		}
		o.Ready, o.Rejected = c.AWS.Ready, c.AWS.Rejected
	}
	return anthropic.Bedrock(o, d, conf), nil
}

// withoutPath checks that a base URL has no path: the SDK replaces it by that of the cloud's API.
func withoutPath(base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return nil //nolint:nilerr // reported when it is used
	}
	if path := strings.Trim(u.Path, "/"); path != "" && path != "v1" {
		return errors.New("the base URL must not have a path")
	}
	return nil
}
