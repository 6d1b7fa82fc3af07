package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// commit is what is released.
type commit struct {
	hash string
	date time.Time // when it was made, in UTC
}

// short is how people are shown it.
func (c commit) short() string { return c.hash[:min(12, len(c.hash))] }

// cleanCommit is the commit of a work tree without changes. Others would be in the
// release and in no commit.
func cleanCommit(ctx context.Context, dir string) (commit, error) {
	changes, err := output(ctx, dir, nil, "git", "status", "--porcelain")
	if err != nil {
		return commit{}, err
	}
	if changes != "" {
		const shown = 5
		lines := strings.Split(changes, "\n")
		more := ""
		if len(lines) > shown {
			lines, more = lines[:shown], fmt.Sprintf("\n   and %d more", len(lines)-shown)
		}
		return commit{}, fmt.Errorf("the work tree has changes, and a release is made of a commit: commit them or put them away (git stash -u)\n%s%s", strings.Join(lines, "\n"), more)
	}
	out, err := output(ctx, dir, nil, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return commit{}, err
	}
	hash, date, _ := strings.Cut(out, " ")
	made, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return commit{}, fmt.Errorf("read when commit %s was made: %w", hash, err)
	}
	return commit{hash: hash, date: made.UTC()}, nil
}
