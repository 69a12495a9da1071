package redact

import "testing"

func TestNamesAndValuesOfSecretVariables(t *testing.T) {
	for name, want := range map[string]bool{
		"GITHUB_TOKEN": true, "api-key": true, "db.password": true, "MY_PAT": true, "SLACK_WEBHOOK": true,
		"TOKEN_FILE": false, "SECRET_PATH": false, "KEYBOARD": false, "MONKEY": false, "WEBHOOK_URL": false, "": false,
	} {
		if got := IsSecretName(name); got != want {
			t.Errorf("name %q: %t", name, got)
		}
	}
	for value, want := range map[string]bool{
		"0123456789abcdef": true, " 0123456789abcdef ": true, "0123456789abcde": false, "abcdefghijklmnopqrs": false,
		"01234567890123456789": false, "/home/user/.ssh/id_1": false, "~/keys/0123456789ab": false, "": false,
	} {
		if got := LooksSecret(value); got != want {
			t.Errorf("value %q: %t", value, got)
		}
	}
}
