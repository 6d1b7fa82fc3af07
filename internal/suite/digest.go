package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// evaluated is everything in a suite that can change a number or a verdict, in
// the order in which it is hashed. A field that is added here changes every
// digest, and with it makes every suite run once more after an upgrade: give
// it omitempty, so that suites which do not use it keep theirs.
type evaluated struct {
	Retriever      v1alpha1.Retriever
	K              []int
	PrimaryK       int
	Betas          []string `json:",omitempty"`
	Unit           v1alpha1.Unit
	MinCoverage    string
	Objectives     []v1alpha1.Objective `json:",omitempty"`
	GoldenSetTags  []string             `json:",omitempty"`
	Parallelism    int32
	TimeoutSeconds int32
}

// EvaluationDigest identifies everything in the suite that can change a number
// or a verdict of a run against the endpoint: "sha256:" and 64 hexadecimal
// digits. Defaults are filled in first, and lists whose order means nothing
// are sorted, so that writing a default out changes nothing. The golden set
// has a digest of its own; schedule, suspension, history and gate change no
// number.
func EvaluationDigest(s *v1alpha1.EvalSuite, endpoint string) string {
	spec := s.Spec.DeepCopy()
	if url, err := endpointURL(s, endpoint); err == nil {
		spec.Retriever.URL = url
	}
	ks, primary := Cutoffs(&spec.Scoring, int(spec.Retriever.TopK))
	slices.Sort(spec.Scoring.Betas)
	slices.Sort(spec.GoldenSet.Tags)
	slices.SortFunc(spec.Objectives, func(a, b v1alpha1.Objective) int {
		return compareObjectives(a, b)
	})
	e := evaluated{
		Retriever:      spec.Retriever,
		K:              ks,
		PrimaryK:       primary,
		Betas:          spec.Scoring.Betas,
		Unit:           spec.Scoring.Unit,
		MinCoverage:    spec.Scoring.MinCoverage,
		Objectives:     spec.Objectives,
		GoldenSetTags:  spec.GoldenSet.Tags,
		Parallelism:    spec.Execution.Parallelism,
		TimeoutSeconds: spec.Execution.TimeoutSeconds,
	}
	if p := e.Retriever.Params; p != nil {
		// Free JSON comes with the spacing and key order of its writer.
		var v any
		if json.Unmarshal(p.Raw, &v) == nil {
			if raw, err := json.Marshal(v); err == nil {
				p.Raw = raw
			}
		}
	}
	raw, err := json.Marshal(e)
	if err != nil {
		// Only params can hold what JSON cannot; the API server let no such thing in.
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func compareObjectives(a, b v1alpha1.Objective) int {
	if a.Metric != b.Metric {
		if a.Metric < b.Metric {
			return -1
		}
		return 1
	}
	ta, tb := tagOf(a), tagOf(b)
	switch {
	case ta < tb:
		return -1
	case ta > tb:
		return 1
	}
	return 0
}

func tagOf(o v1alpha1.Objective) string {
	if o.Tag == nil {
		return ""
	}
	return *o.Tag
}
