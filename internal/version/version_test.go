package version

import (
	"runtime/debug"
	"testing"
)

func TestCommitOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	for name, tt := range map[string]struct {
		settings []debug.BuildSetting
		want     string
	}{
		"built outside a work tree": {nil, ""},
		"clean":                     {[]debug.BuildSetting{revision, {Key: "vcs.modified", Value: "false"}}, "0123456789ab"},
		"with changes":              {[]debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}, "0123456789ab-dirty"},
		"changes to nothing known":  {[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, ""},
		"short revision":            {[]debug.BuildSetting{{Key: "vcs.revision", Value: "12"}}, "12"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := commitOf(tt.settings); got != tt.want {
				t.Errorf("commitOf = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestUserAgent(t *testing.T) {
	if got, want := UserAgent(), "assay/"+Version; got != want {
		t.Errorf("UserAgent = %q, want %q", got, want)
	}
}
