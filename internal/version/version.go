// Package version says which build of Assay is running.
package version

import (
	"runtime/debug"
	"sync"
)

// Version is the release, set at link time with
// -ldflags "-X github.com/assay-dev/assay/internal/version.Version=v1.2.3".
var Version = "dev"

// Commit is the commit the binary was built from, with "-dirty" behind it where
// the work tree had changes; empty where the build does not know.
func Commit() string { return commit() }

// String is the version and, where it is known, the commit: "v1.2.3 (0123456789ab)".
func String() string {
	if c := Commit(); c != "" {
		return Version + " (" + c + ")"
	}
	return Version
}

// UserAgent is how Assay names itself to the services it calls.
func UserAgent() string { return "assay/" + Version }

var commit = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return commitOf(info.Settings)
})

// commitOf reads the commit from what the Go command stamps into a binary.
func commitOf(settings []debug.BuildSetting) string {
	var revision, suffix string
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + suffix
}
