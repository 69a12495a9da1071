// Package examples has the files that `millhand init` writes. It does not choose among them: package starter does.
package examples

import "embed"

// Files are the files, by their paths in this directory.
//
//go:embed github/*.yml github/*.yaml gitlab/.gitlab-ci.yml gitlab/millhand.yaml
//go:embed cron/crontab cron/millhand.service cron/millhand.timer cron/millhand.yaml cron/run.sh
//go:embed quickstart
var Files embed.FS
