package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/manifest"
	"github.com/assay-dev/assay/internal/suite"
)

// A manifest means the same to the API server and to `assay run`, which has only
// the embedded CRDs: every sample suite gets the same defaults, and can be run.
func TestSamplesMeanTheSameWithoutACluster(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "evalsuite_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 7 {
		t.Errorf("%d sample suites, want at least 7", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			manifests, err := manifest.Load([]string{path}, nil)
			if err != nil {
				t.Fatal(err)
			}
			offline, err := manifests.Suite("")
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range documents(t, data) {
				apply(t, object)
			}
			online := &v1alpha1.EvalSuite{}
			if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(offline), online); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(online.Spec, offline.Spec); diff != "" {
				t.Errorf("spec (-API server +assay run):\n%s", diff)
			}
			prepared, err := suite.Prepare(t.Context(), offline, suite.RunOptions{}, manifests.Source(offline.Namespace), suite.Deps{})
			if err != nil {
				t.Fatalf("the sample cannot be run: %v", err)
			}
			prepared.Close()
		})
	}
}

// What the API server refuses, `assay run` refuses, and by a rule's own sentence.
func TestBadManifestsAreRefusedWithoutACluster(t *testing.T) {
	sentences := map[string]bool{}
	for _, rule := range rules(t) {
		sentences[rule.Message] = true
	}
	for _, row := range refused {
		if row.base != minimalSuite {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			data, err := yaml.Marshal(changed(t, row.base, row.patch))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "suite.yaml")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = manifest.Load([]string{path}, nil)
			if err == nil {
				t.Fatalf("accepted, want it refused as by the API server with %q", row.want)
			}
			for sentence := range sentences {
				if strings.Contains(sentence, row.want) && !strings.Contains(err.Error(), row.want) {
					t.Errorf("refused with\n%v\nwant in it\n%s", err, row.want)
				}
			}
		})
	}
}
