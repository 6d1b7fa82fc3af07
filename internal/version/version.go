// Package version says which build of Assay is running.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// What the linker sets, with -ldflags "-X github.com/assay-dev/assay/internal/version.Version=v1.2.3".
var (
	// Version is the release: v1.2.3, or dev where the build does not say.
	Version = unknownVersion

	// linkedCommit is the whole commit, for builds without the .git folder.
	linkedCommit string
	// linkedDate is when that commit was made, in RFC 3339.
	linkedDate string
)

const unknownVersion = "dev"

// shortCommit is how many digits of a commit people are shown.
const shortCommit = 12

// Info is what can be known about a build. Its JSON is what
// `assay version -o json` prints.
type Info struct {
	// Version is the release, v1.2.3, or dev.
	Version string `json:"version"`
	// Commit is the commit that was built, shortened to 12 digits, with -dirty
	// behind it where the work tree had changes; empty where it is not known.
	Commit string `json:"commit,omitempty"`
	// Date is when that commit was made, in RFC 3339; empty where it is not known.
	// It is not the time of the build, which no two builds share.
	Date string `json:"date,omitempty"`
	// Go is the Go version that compiled it, go1.26.0.
	Go string `json:"go"`
	// Platform is the operating system and architecture, linux/amd64.
	Platform string `json:"platform"`
}

// Get tells what is known about this build.
func Get() Info { return get() }

// Commit is [Info.Commit] of this build.
func Commit() string { return get().Commit }

// String is the version and, where it is known, the commit: "v1.2.3 (0123456789ab)".
func String() string {
	if c := Commit(); c != "" {
		return Version + " (" + c + ")"
	}
	return Version
}

// UserAgent is how Assay names itself to the services it calls.
func UserAgent() string { return "assay/" + Version }

// init takes the version from the module where the linker set none, as for
// `go install github.com/assay-dev/assay@v1.2.3`. Version is a variable for the
// linker's sake and is read as one, so this cannot wait for the first reader.
func init() {
	if info, ok := debug.ReadBuildInfo(); ok && Version == unknownVersion {
		Version = versionOf(info)
	}
}

var get = sync.OnceValue(func() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return infoOf(info, linkedCommit, linkedDate)
})

// versionOf is the version of the main module, if it has one.
func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return unknownVersion
}

// infoOf puts together what the linker was told and what the Go command stamped;
// the first one counts.
func infoOf(info *debug.BuildInfo, commit, date string) Info {
	stamped := map[string]string{}
	for _, s := range info.Settings {
		stamped[s.Key] = s.Value
	}
	if commit == "" && stamped["vcs.revision"] != "" {
		commit = stamped["vcs.revision"]
		if stamped["vcs.modified"] == "true" {
			commit += "-dirty"
		}
	}
	return Info{
		Version:  Version,
		Commit:   shorten(commit),
		Date:     cmp.Or(date, stamped["vcs.time"]),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// shorten cuts a commit and keeps what stands behind it.
func shorten(commit string) string {
	hash, dirty := strings.CutSuffix(commit, "-dirty")
	hash = hash[:min(shortCommit, len(hash))]
	if dirty {
		hash += "-dirty"
	}
	return hash
}
