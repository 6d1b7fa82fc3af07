package main

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/config/crd"
	"github.com/assay-dev/assay/internal/telemetry"
)

// small is a CRD with one of everything that the reference tells apart.
const small = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, shortNames: [th]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        description: Thing is a thing.
        type: object
        x-kubernetes-validations:
        - {rule: "size(self.metadata.name) < 9", message: a name must be short}
        properties:
          spec:
            description: spec is what is wanted
            type: object
            required: [name]
            minProperties: 1
            x-kubernetes-validations:
            - {rule: "!has(self.a) || has(self.b)"}
            properties:
              name: {description: "name | of <it>", type: string, minLength: 1, maxLength: 63, pattern: "^a|b$"}
              size: {description: size of it., type: integer, default: 5, minimum: 1, maximum: 9}
              mode: {description: mode of it., type: string, enum: [Fast, Slow], default: Fast, minLength: 4, maxLength: 4}
              tags: {description: tags of it., type: array, maxItems: 3, x-kubernetes-list-type: set, items: {type: string, maxLength: 9}}
              ratio: {description: ratio of it., type: string, x-kubernetes-validations: [{rule: "true", message: give a ratio}]}
              labels: {description: labels of it., type: object, additionalProperties: {type: string}}
              free: {description: free is free., x-kubernetes-preserve-unknown-fields: true}
              left: {description: left side., type: object, properties: {at: {description: at a place., type: string, format: date-time}}}
              right: {description: right side., type: object, properties: {at: {description: at a place., type: string, format: date-time}}}
          status:
            description: status is what is.
            type: object
            properties:
              parts: {description: parts of it., type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id],
                items: {type: object, required: [id], properties: {id: {description: id of it., type: string, minLength: 8, maxLength: 8}}}}
`

func pageOf(t *testing.T, manifest string) (string, error) {
	t.Helper()
	crds, err := readCRDs(fstest.MapFS{"bases/thing.yaml": {Data: []byte(manifest)}})
	if err != nil {
		return "", err
	}
	return apiPage(crds)
}

func TestAPIPage(t *testing.T) {
	page, err := pageOf(t, small)
	if err != nil {
		t.Fatal(err)
	}
	const want = `
## Thing

Thing is a thing.

` + "`apiVersion: example.com/v1`, `kind: Thing`; `kubectl get th`" + `.

Rules:

- a name must be short

### Thing.spec

spec is what is wanted.

| field | type | default | meaning |
| --- | --- | --- | --- |
| ` + "`name` | string | required | name \\| of &lt;it>. 1 to 63 characters. Matches `^a\\|b$`." + ` |
| ` + "`free` | any JSON |  | free is free." + ` |
| ` + "`labels` | map to string |  | labels of it." + ` |
| ` + "`left` | [object](#thingspecleft) |  | left side." + ` |
| ` + "`mode` | string | `\"Fast\"` | mode of it. One of `Fast`, `Slow`." + ` |
| ` + "`ratio` | string |  | ratio of it. Rule: give a ratio." + ` |
| ` + "`right` | [object](#thingspecleft) |  | right side." + ` |
| ` + "`size` | integer | `5` | size of it. 1 to 9." + ` |
| ` + "`tags` | list of string |  | tags of it. At most 3 items. No item twice. Each: At most 9 characters." + ` |

Rules:

- At least 1 field.
- ` + "`!has(self.a) || has(self.b)`" + `

### Thing.spec.left

left side.

The same: ` + "`Thing.spec.right`" + `.

| field | type | default | meaning |
| --- | --- | --- | --- |
| ` + "`at` | time |  | at a place." + ` |

### Thing.status

status is what is.

| field | type | default | meaning |
| --- | --- | --- | --- |
| ` + "`parts` | list of [object](#thingstatusparts) |  | parts of it. No two with the same `id`." + ` |

### Thing.status.parts[]

parts of it.

| field | type | default | meaning |
| --- | --- | --- | --- |
| ` + "`id` | string | required | id of it. Exactly 8 characters." + ` |
`
	if diff := cmp.Diff(apiHead+want, page); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
}

func TestGarbageIsRefused(t *testing.T) {
	for name, manifest := range map[string]string{
		"no YAML":       "\t{",
		"another field": strings.Replace(small, "group: example.com", "grupp: example.com", 1),
		"no schema":     strings.Replace(small, "storage: true", "storage: false", 1),
		"no status":     strings.Replace(small, "          status:", "          state:", 1),
	} {
		if page, err := pageOf(t, manifest); err == nil {
			t.Errorf("%s: made a page:\n%s", name, page)
		}
	}
}

var (
	fragment = regexp.MustCompile(`\]\(#([^)]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// Every link within the real page leads to a heading, and no two headings are alike.
func TestAnchors(t *testing.T) {
	crds, err := readCRDs(crd.FS)
	if err != nil {
		t.Fatal(err)
	}
	page, err := apiPage(crds)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		if a := anchor(m[1]); anchors[a] {
			t.Errorf("two headings have the anchor %s", a)
		} else {
			anchors[a] = true
		}
	}
	links := fragment.FindAllStringSubmatch(page, -1)
	for _, m := range links {
		if !anchors[m[1]] {
			t.Errorf("the link to #%s leads nowhere", m[1])
		}
	}
	if len(links) == 0 || !anchors["evalsuitespec"] || !anchors["evalrunstatus"] {
		t.Errorf("%d links, anchors %v", len(links), anchors)
	}
}

func TestMetricsPage(t *testing.T) {
	got := metricsPage([]telemetry.Series{
		{Name: "assay_a", Type: "gauge", Help: "An a, or <b>|c.", Labels: []string{"namespace", "suite"}},
		{Name: "assay_b_seconds", Type: "histogram", Help: "How long b takes."},
	})
	want := metricsHead + "| `assay_a` | gauge | `namespace`, `suite` | An a, or &lt;b>\\|c. |\n| `assay_b_seconds` | histogram |  | How long b takes. |\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
}

func TestCode(t *testing.T) {
	for in, want := range map[string]string{"a": "`a`", "a|b": "`a\\|b`", "a`b": "`` a`b ``"} {
		if got := code(in); got != want {
			t.Errorf("code(%q) = %q, want %q", in, got, want)
		}
	}
}
