package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// refusalHolds is how long a download that failed is not tried again.
const refusalHolds = 24 * time.Hour

// finder decides where the binaries come from.
type finder struct {
	// set is the folder that the user names, empty for none.
	set string
	// store holds what was built.
	store store
	// download brings binaries from the network; nil where it must not.
	download func(ctx context.Context) (string, error)
	// build puts the named binaries into the store; nil where it must not.
	build func(ctx context.Context, names []string) error
	now   func() time.Time
	say   func(format string, a ...any)
}

// find gives the folder that holds the named binaries: the user's own, what was
// built before, what can be downloaded quickly, or what is built now.
func (f finder) find(ctx context.Context, names []string) (string, error) {
	if f.set != "" {
		if missing := missingIn(f.set, names); len(missing) > 0 {
			return "", fmt.Errorf("KUBEBUILDER_ASSETS is %s, which lacks %s: add what is missing, or unset it to have the binaries built", f.set, strings.Join(missing, ", "))
		}
		return filepath.Abs(f.set) // tests run in their own folders
	}
	missing := f.store.missing(names)
	if len(missing) == 0 {
		return f.store.dir, nil
	}
	if f.build == nil {
		return "", fmt.Errorf("%s are not in %s yet: run without -print to download or build them", strings.Join(missing, ", "), f.store.dir)
	}
	if dir, ok := f.tryDownload(ctx, names); ok {
		return dir, nil
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := f.build(ctx, missing); err != nil {
		return "", err
	}
	return f.store.dir, nil
}

// tryDownload asks setup-envtest, unless it cannot have what is needed or was
// refused lately.
func (f finder) tryDownload(ctx context.Context, names []string) (string, bool) {
	beyond := func(name string) bool { return !slices.Contains(base, name) }
	if f.download == nil || slices.ContainsFunc(names, beyond) || f.store.refusedSince(f.now().Add(-refusalHolds)) {
		return "", false
	}
	dir, err := f.download(ctx)
	if err == nil {
		if missing := missingIn(dir, names); len(missing) > 0 {
			err = fmt.Errorf("it lacks %s", strings.Join(missing, ", "))
		}
	}
	if err == nil {
		return dir, true
	}
	if !errors.Is(err, context.Canceled) {
		f.say("nothing to download (%v)", err)
		f.store.refuse(f.now())
	}
	return "", false
}

// missingIn lists which of the names are no executable files in the folder.
func missingIn(dir string, names []string) []string {
	var missing []string
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			missing = append(missing, name)
		}
	}
	return missing
}
