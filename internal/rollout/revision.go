package rollout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
)

// Target is a workload and its state.
type Target struct {
	Kind, Name string
	State      State
}

// revisionDigits is how many hexadecimal digits a revision has.
const revisionDigits = 10

// Revision names what the targets run: a short hash over their template hashes
// and the digests of the ConfigMaps that their templates name, by name. The
// order of the targets does not matter. It is empty while a template's hash is
// not known, and without targets.
func Revision(targets []Target, configMaps map[string]string) string {
	if len(targets) == 0 {
		return ""
	}
	targets = slices.Clone(targets)
	slices.SortFunc(targets, func(a, b Target) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	sum := sha256.New()
	for _, t := range targets {
		if t.State.TemplateHash == "" {
			return ""
		}
		add(sum, "target", t.Kind, t.Name, t.State.TemplateHash)
	}
	for _, name := range slices.Sorted(maps.Keys(configMaps)) {
		add(sum, "configMap", name, configMaps[name])
	}
	return hex.EncodeToString(sum.Sum(nil))[:revisionDigits]
}

// ConfigMapDigest is the SHA-256 of what a ConfigMap holds. Its name and its
// metadata do not count.
func ConfigMapDigest(data map[string]string, binary map[string][]byte) string {
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		add(sum, "data", key, data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(binary)) {
		add(sum, "binaryData", key, string(binary[key]))
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// add hashes strings with their lengths, so that no two lists give the same bytes.
func add(sum hash.Hash, parts ...string) {
	for _, p := range parts {
		_, _ = fmt.Fprintf(sum, "%d:%s,", len(p), p)
	}
}
