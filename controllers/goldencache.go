package controllers

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
)

// goldenFacts is what the suite controller keeps of a golden set: a set may be
// 64 MiB, this is not.
type goldenFacts struct {
	// read is true where summary holds.
	read     bool
	summary  status.GoldenSummary
	warnings []golden.Problem
	// fine are the bounds on a drop that are smaller than what one case weighs.
	fine []string
	// refs identify what the suite refers to beside the set, where it was read.
	refs  *suite.Digests
	stall *suite.Error
}

// goldenCache remembers, for each suite, what came of reading its golden set,
// for as long as the identity of what it was read from stays the same.
type goldenCache struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]goldenEntry
}

type goldenEntry struct {
	identity string
	objects  []string
	facts    goldenFacts
}

func (c *goldenCache) get(suite types.NamespacedName, identity string) (goldenFacts, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[suite]
	return e.facts, ok && e.identity == identity
}

func (c *goldenCache) put(suite types.NamespacedName, identity string, objects []string, f goldenFacts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[types.NamespacedName]goldenEntry{}
	}
	c.entries[suite] = goldenEntry{identity, objects, f}
}

// forget drops the entry of a suite that is gone.
func (c *goldenCache) forget(suite types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, suite)
}

// reads says whether the suite's set was read from the object last.
func (c *goldenCache) reads(suite types.NamespacedName, object types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.entries[suite].objects, func(version string) bool {
		return strings.HasPrefix(version, string(object)+"@")
	})
}
