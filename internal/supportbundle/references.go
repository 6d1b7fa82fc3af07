package supportbundle

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// reference is an object that a suite names, and where.
type reference struct {
	kind  string // Secret or ConfigMap
	name  string
	keys  []string
	field string
}

const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
)

// referencesOf gives what a suite names. It goes by the names of fields, so that a
// suite of another release is read as well.
func referencesOf(s *unstructured.Unstructured) (refs []reference, selectors []metav1.LabelSelector) {
	spec, _, _ := unstructured.NestedMap(s.Object, "spec")
	var walk func(field string, v any)
	walk = func(field string, v any) {
		switch v := v.(type) {
		case []any:
			for i := range v {
				walk(fmt.Sprintf("%s[%d]", field, i), v[i])
			}
		case map[string]any:
			name, _ := v["name"].(string)
			key, _ := v["key"].(string)
			last := field[strings.LastIndex(field, ".")+1:]
			switch {
			case last == "configMapSelector":
				raw, err := json.Marshal(v)
				var selector metav1.LabelSelector
				if err == nil && json.Unmarshal(raw, &selector) == nil {
					selectors = append(selectors, selector)
				}
				return
			case last == "caBundleRef":
				kind, _ := v["kind"].(string)
				refs = append(refs, reference{kind: cmp.Or(kind, kindConfigMap), name: name, keys: []string{cmp.Or(key, "ca.crt")}, field: field})
				return
			case last == "clientCertSecretRef":
				refs = append(refs, reference{kind: kindSecret, name: name, keys: []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}, field: field})
				return
			case strings.HasSuffix(strings.ToLower(last), "secretref"), last == "secretKeyRef":
				refs = append(refs, reference{kind: kindSecret, name: name, keys: nonEmpty(key), field: field})
				return
			case last == "configMapRef", last == "promptRef":
				refs = append(refs, reference{kind: kindConfigMap, name: name, keys: nonEmpty(key), field: field})
				return
			}
			for _, child := range slices.Sorted(maps.Keys(v)) {
				walk(field+"."+child, v[child])
			}
		}
	}
	walk("spec", any(spec))
	return refs, selectors
}

func nonEmpty(key string) []string {
	if key == "" {
		return nil
	}
	return []string{key}
}

// content is what is kept of a ConfigMap.
type content struct {
	Name string `json:"name"`
	// Found is false where it does not exist.
	Found           bool   `json:"found"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Problem is why nothing is known.
	Problem string `json:"problem,omitempty"`
	Keys    []key  `json:"keys,omitempty"`
	UsedBy  []use  `json:"usedBy,omitempty"`
}

// key is a key of a ConfigMap or Secret.
type key struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// use is a field that names the object, with the keys that it asks for and that
// are not there.
type use struct {
	Suite   string   `json:"suite"`
	Field   string   `json:"field"`
	Missing []string `json:"missingKeys,omitempty"`
}

// references keeps what is known of the ConfigMaps and Secrets that suites name.
func (c collector) references(ctx context.Context, suites []unstructured.Unstructured) {
	type object struct {
		types.NamespacedName
		kind string
	}
	known := map[object]*content{}
	for i := range suites {
		s := &suites[i]
		refs, selectors := referencesOf(s)
		for _, selector := range selectors {
			refs = append(refs, c.selected(ctx, s, selector)...)
		}
		for _, ref := range refs {
			of := object{types.NamespacedName{Namespace: s.GetNamespace(), Name: ref.name}, ref.kind}
			if known[of] == nil {
				if ref.kind == kindSecret {
					known[of] = c.secretKeys(ctx, of.NamespacedName)
				} else {
					known[of] = c.configMap(ctx, of.NamespacedName)
				}
			}
			c.use(s, ref, known[of])
		}
	}
	byFile := map[string][]*content{}
	for of, found := range known {
		name := file("namespaces", of.Namespace, "configmaps.yaml")
		if of.kind == kindSecret {
			name = file("namespaces", of.Namespace, "secrets.yaml")
		}
		byFile[name] = append(byFile[name], found)
	}
	for name, all := range byFile {
		slices.SortFunc(all, func(a, b *content) int { return cmp.Compare(a.Name, b.Name) })
		text, err := yaml.Marshal(all)
		if err != nil {
			c.miss(name, err)
			continue
		}
		c.text[name] = string(text)
	}
}

// use notes that a suite names an object, and what it does not find there.
func (c collector) use(s *unstructured.Unstructured, ref reference, found *content) {
	u := use{Suite: s.GetName(), Field: ref.field}
	switch {
	case found.Problem != "":
	case !found.Found:
		c.find(Problem, about(s), "the %s %q of %s does not exist in namespace %q", ref.kind, ref.name, ref.field, s.GetNamespace())
	default:
		for _, wanted := range ref.keys {
			if !slices.ContainsFunc(found.Keys, func(k key) bool { return k.Name == wanted }) {
				u.Missing = append(u.Missing, wanted)
				c.find(Problem, about(s), "the %s %q of %s lacks the key %q", ref.kind, ref.name, ref.field, wanted)
			}
		}
	}
	found.UsedBy = append(found.UsedBy, u)
}

// selected gives the ConfigMaps that a suite picks by labels.
func (c collector) selected(ctx context.Context, s *unstructured.Unstructured, selector metav1.LabelSelector) []reference {
	const field = "spec.goldenSet.configMapSelector"
	found, _ := c.list(ctx, resource("", "configmaps"), s.GetNamespace(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&selector)})
	var refs []reference
	for i := range found {
		refs = append(refs, reference{kind: kindConfigMap, name: found[i].GetName(), field: field})
	}
	return refs
}

// configMap gives the keys of a ConfigMap with size and digest; its content is
// kept only where that was asked for.
func (c collector) configMap(ctx context.Context, of types.NamespacedName) *content {
	found := &content{Name: of.Name}
	cm, err := c.get(ctx, resource("", "configmaps"), of.Namespace, of.Name)
	if err != nil {
		return c.absent(found, "ConfigMap "+of.String(), err)
	}
	found.Found, found.ResourceVersion = true, cm.GetResourceVersion()
	data, _, _ := unstructured.NestedStringMap(cm.Object, "data")
	binary, _, _ := unstructured.NestedStringMap(cm.Object, "binaryData")
	all := map[string][]byte{}
	for name, text := range data {
		all[name] = []byte(text)
	}
	for name, text := range binary {
		// The API server writes it, and so it decodes.
		all[name], _ = base64.StdEncoding.DecodeString(text)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sum := sha256.Sum256(all[name])
		found.Keys = append(found.Keys, key{Name: name, Bytes: len(all[name]), SHA256: hex.EncodeToString(sum[:])})
		if c.options.GoldenSets {
			c.keepContent(of, name, all[name])
		}
	}
	return found
}

// maxContent bounds what a packed key unpacks to.
const maxContent = 64 << 20

// keepContent keeps what stands under a key, unpacked: secrets are removed from it
// as from everything else.
func (c collector) keepContent(of types.NamespacedName, name string, raw []byte) {
	what := "content of key " + name + " of ConfigMap " + of.String()
	if bare, packed := strings.CutSuffix(name, ".gz"); packed {
		unpacked, err := gzip.NewReader(bytes.NewReader(raw))
		if err == nil {
			raw, err = io.ReadAll(io.LimitReader(unpacked, maxContent))
		}
		if err != nil {
			c.miss(what, err)
			return
		}
		name = bare
	}
	if !utf8.Valid(raw) {
		c.miss(what, errors.New("it is no text"))
		return
	}
	c.text[file("namespaces", of.Namespace, "configmaps", of.Name, name)] = scrub(string(raw))
}

// nothing takes a value of JSON and keeps none of it.
type nothing struct{}

// UnmarshalJSON drops what it is given.
func (nothing) UnmarshalJSON([]byte) error { return nil }

// secretKeys gives the names of a Secret's keys. The API has no call for these
// alone; what stands behind them is dropped as the reply is read.
func (c collector) secretKeys(ctx context.Context, of types.NamespacedName) *content {
	found := &content{Name: of.Name}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	raw, err := c.from.Secrets(ctx, of.Namespace, of.Name)
	if err != nil {
		return c.absent(found, "Secret "+of.String(), err)
	}
	var secret struct {
		Data map[string]nothing `json:"data"`
	}
	err = json.Unmarshal(raw, &secret)
	clear(raw)
	if err != nil {
		return c.absent(found, "Secret "+of.String(), fmt.Errorf("read the reply: %w", err))
	}
	found.Found = true
	for _, name := range slices.Sorted(maps.Keys(secret.Data)) {
		found.Keys = append(found.Keys, key{Name: name})
	}
	return found
}

// absent is an object that is not there, or of which nothing is known.
func (c collector) absent(found *content, what string, err error) *content {
	if apierrors.IsNotFound(err) {
		return found
	}
	c.miss(what, err)
	found.Problem = "not collected: see index.yaml"
	return found
}
