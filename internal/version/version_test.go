package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func TestInfoOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: commit}
	committed := debug.BuildSetting{Key: "vcs.time", Value: "2026-11-30T09:00:00Z"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, tt := range map[string]struct {
		settings     []debug.BuildSetting
		commit, date string // as linked
		wantCommit   string
		wantDate     string
	}{
		"built outside a work tree": {},
		"clean": {
			settings:   []debug.BuildSetting{revision, committed, {Key: "vcs.modified", Value: "false"}},
			wantCommit: "0123456789ab", wantDate: "2026-11-30T09:00:00Z",
		},
		"with changes": {
			settings:   []debug.BuildSetting{revision, committed, modified},
			wantCommit: "0123456789ab-dirty", wantDate: "2026-11-30T09:00:00Z",
		},
		"changes to nothing known": {settings: []debug.BuildSetting{modified}},
		"short revision":           {settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "12"}}, wantCommit: "12"},
		"linked": {
			commit: commit, date: "2026-11-29T00:00:00Z",
			wantCommit: "0123456789ab", wantDate: "2026-11-29T00:00:00Z",
		},
		"linked with changes": {commit: commit + "-dirty", wantCommit: "0123456789ab-dirty"},
		"linked goes before what is stamped": {
			settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "ffffffffffffffff"}, modified},
			commit:   commit, wantCommit: "0123456789ab",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := infoOf(&debug.BuildInfo{Settings: tt.settings}, tt.commit, tt.date)
			want := Info{
				Version: Version, Commit: tt.wantCommit, Date: tt.wantDate,
				Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("infoOf (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVersionOf(t *testing.T) {
	for name, tt := range map[string]struct{ main, want string }{
		"go install of a release": {"v1.2.3", "v1.2.3"},
		"go build in a work tree": {"(devel)", "dev"},
		"unknown":                 {"", "dev"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versionOf(&debug.BuildInfo{Main: debug.Module{Version: tt.main}}); got != tt.want {
				t.Errorf("versionOf = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestUserAgent(t *testing.T) {
	if got, want := UserAgent(), "assay/"+Version; got != want {
		t.Errorf("UserAgent = %q, want %q", got, want)
	}
}
