package rollout

import (
	"regexp"
	"slices"
	"testing"
)

func target(kind, name, hash string) Target {
	return Target{Kind: kind, Name: name, State: State{TemplateHash: hash}}
}

func TestRevision(t *testing.T) {
	api, index := target("Deployment", "api", "6d9f"), target("StatefulSet", "index", "index-1")
	prompt := map[string]string{"prompt": "sha256:aa", "stopwords": ""}
	base := Revision([]Target{api, index}, prompt)
	if !regexp.MustCompile(`^[0-9a-f]{10}$`).MatchString(base) {
		t.Errorf("revision %q, want ten hexadecimal digits", base)
	}
	listed := []Target{index, api}
	for name, same := range map[string]string{
		"in another order":           Revision(listed, prompt),
		"in another state":           Revision([]Target{{Kind: "Deployment", Name: "api", State: State{TemplateHash: "6d9f", RolledOut: true, Reason: "x", Message: "y"}}, index}, prompt),
		"once more, in the same way": Revision([]Target{api, index}, map[string]string{"stopwords": "", "prompt": "sha256:aa"}),
	} {
		if same != base {
			t.Errorf("%s: %s, want %s", name, same, base)
		}
	}
	if slices.IndexFunc(listed, func(t Target) bool { return t.Name == "index" }) != 0 {
		t.Error("the targets were put into another order")
	}
	seen := map[string]string{base: "the base"}
	for name, other := range map[string]string{
		"another template":            Revision([]Target{target("Deployment", "api", "77c4"), index}, prompt),
		"another name":                Revision([]Target{target("Deployment", "api2", "6d9f"), index}, prompt),
		"another kind":                Revision([]Target{target("DaemonSet", "api", "6d9f"), index}, prompt),
		"one target less":             Revision([]Target{api}, prompt),
		"another prompt":              Revision([]Target{api, index}, map[string]string{"prompt": "sha256:bb", "stopwords": ""}),
		"a ConfigMap that came":       Revision([]Target{api, index}, map[string]string{"prompt": "sha256:aa", "stopwords": "sha256:cc"}),
		"one ConfigMap less":          Revision([]Target{api, index}, map[string]string{"prompt": "sha256:aa"}),
		"a digest with another name":  Revision([]Target{api, index}, map[string]string{"prompt2": "sha256:aa", "stopwords": ""}),
		"no ConfigMaps":               Revision([]Target{api, index}, nil),
		"what is split another way":   Revision([]Target{target("Deployment", "ap", "i6d9f"), index}, prompt),
		"what is split across fields": Revision([]Target{target("Deploymentapi", "", "6d9f"), index}, prompt),
	} {
		if was, known := seen[other]; known {
			t.Errorf("%s has the revision of %s", name, was)
		}
		seen[other] = name
	}
	if got := Revision([]Target{api, target("StatefulSet", "index", "")}, prompt); got != "" {
		t.Errorf("a template is not known, and the revision is %s", got)
	}
	if got := Revision(nil, prompt); got != "" {
		t.Errorf("no targets, and the revision is %s", got)
	}
}

func TestConfigMapDigest(t *testing.T) {
	base := ConfigMapDigest(map[string]string{"system.txt": "Be brief.", "b": ""}, map[string][]byte{"logo": {0, 1}})
	if base != ConfigMapDigest(map[string]string{"b": "", "system.txt": "Be brief."}, map[string][]byte{"logo": {0, 1}}) {
		t.Error("the same content has two digests")
	}
	seen := map[string]string{base: "the base"}
	for name, digest := range map[string]string{
		"another text":       ConfigMapDigest(map[string]string{"system.txt": "Be kind.", "b": ""}, map[string][]byte{"logo": {0, 1}}),
		"another key":        ConfigMapDigest(map[string]string{"system.md": "Be brief.", "b": ""}, map[string][]byte{"logo": {0, 1}}),
		"an empty key less":  ConfigMapDigest(map[string]string{"system.txt": "Be brief."}, map[string][]byte{"logo": {0, 1}}),
		"other bytes":        ConfigMapDigest(map[string]string{"system.txt": "Be brief.", "b": ""}, map[string][]byte{"logo": {0, 2}}),
		"text, not bytes":    ConfigMapDigest(map[string]string{"system.txt": "Be brief.", "b": "", "logo": "\x00\x01"}, nil),
		"nothing":            ConfigMapDigest(nil, nil),
		"split another way":  ConfigMapDigest(map[string]string{"a": "bc"}, nil),
		"split a second way": ConfigMapDigest(map[string]string{"ab": "c"}, nil),
	} {
		if was, known := seen[digest]; known {
			t.Errorf("%s has the digest of %s", name, was)
		}
		seen[digest] = name
	}
}
