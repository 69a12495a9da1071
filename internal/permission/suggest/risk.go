package suggest

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
)

// kind is how the arguments of a program are understood.
type kind int

const (
	arguments   kind = iota // options and operands
	subcommands             // the first argument is an action
	interpreter             // the first argument is a script
	remote                  // it connects to other machines
	privileged              // it gets more rights, or changes the machine
	containers              // it starts containers
)

// programs returns the programs that are not plain ones.
func programs() map[string]kind {
	all := map[string]kind{}
	for k, names := range map[kind]string{
		subcommands: "git go npm pnpm yarn bun cargo pip pip3 uv poetry pdm hatch tox nox make just task mvn gradle gradlew dotnet composer bundle rails rake mix " +
			"swift deno npx pnpx bunx pre-commit bazel ninja cmake rustup conda brew nix",
		interpreter: "python python3 python2 node ruby perl php lua bash sh zsh dash ksh",
		remote:      "curl wget nc ncat netcat socat telnet ssh scp sftp rsync ftp gh glab hub aws gcloud az kubectl helm terraform ansible ansible-playbook twine psql mysql redis-cli",
		privileged:  "sudo su doas pkexec chroot mount umount systemctl service crontab at dd mkfs apt apt-get dnf yum apk pacman iptables useradd usermod passwd kill killall pkill reboot shutdown",
		containers:  "docker podman nerdctl buildah docker-compose",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = k
		}
	}
	return all
}

// risk returns why a rule for what is needed should not be made without a look at it; "" for
// no reason.
func risk(n permission.Request) string {
	switch n.Permission {
	case "bash":
		return riskOfCommand(strings.Fields(n.Subject()))
	case "edit":
		if preset, _ := permission.Preset("edit"); !preset.Decide(n).Allowed() {
			return "configures CI, git, reviews or agents; the presets protect it"
		}
	case "read":
		if preset, _ := permission.Preset("readonly"); !preset.Decide(n).Allowed() {
			return "may contain secrets; the presets deny it"
		}
	case permission.Git:
		return "git's own files can make git run commands"
	case permission.ExternalDirectory, permission.ExternalRead:
		if !usualOutside(n) {
			return "outside of the workspace, and neither temporary nor of the system"
		}
	}
	return ""
}

// riskOfCommand is the risk of a command line, given by its words.
func riskOfCommand(words []string) string {
	if len(words) == 0 {
		return ""
	}
	switch programs()[program(words[0])] {
	case arguments:
	case remote:
		return "connects to other machines"
	case privileged:
		return "gets more rights, or changes the machine"
	case containers:
		return "starts containers, which are outside of the sandbox"
	case interpreter:
		if len(words) < 2 || strings.HasPrefix(words[1], "-") && !(words[1] == "-m" && len(words) > 2) {
			return "runs any code in its arguments or its input"
		}
	case subcommands:
		if slices.ContainsFunc(words[1:], func(w string) bool { return w == "push" || w == "publish" || w == "login" || w == "deploy" }) {
			return "publishes something"
		}
	}
	return ""
}

// usualOutside reports whether a path outside of the workspace is temporary, or of the
// system and only read.
func usualOutside(n permission.Request) bool {
	if n.Permission == permission.ExternalRead {
		if preset, _ := permission.Preset("build"); preset.Decide(n).Allowed() {
			return true
		}
	}
	return pathtree.Within(n.Subject(), "/tmp") || pathtree.Within(n.Subject(), "/var/tmp")
}
