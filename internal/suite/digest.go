package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"

	"golang.org/x/text/unicode/norm"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/judge"
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
	Answer         *v1alpha1.Answer       `json:",omitempty"`
	Judge          *v1alpha1.Judge        `json:",omitempty"`
	BLEUTokenizer  v1alpha1.BLEUTokenizer `json:",omitempty"`
	Baseline       *v1alpha1.Baseline     `json:",omitempty"`
	PromptDigest   string                 `json:",omitempty"`
	LabelsDigest   string                 `json:",omitempty"`
	Parser         int                    `json:",omitempty"`
}

// EvaluationDigest identifies everything in the suite that can change a number
// or a verdict of a run against the endpoint: "sha256:" and 64 hexadecimal
// digits. Defaults are filled in first, and lists whose order means nothing
// are sorted, so that writing a default out changes nothing. The golden set
// has a digest of its own; schedule, suspension, history and gate change no
// number. What the suite refers to beside the golden set goes in by refs.
func EvaluationDigest(s *v1alpha1.EvalSuite, endpoint string, refs Digests) string {
	spec := s.Spec.DeepCopy()
	if urls, err := endpointURLs(s, endpoint); err == nil {
		spec.Retriever.URL = urls.retriever
		if spec.Answer != nil {
			spec.Answer.URL = urls.answer
		}
	}
	ks, primary := Cutoffs(&spec.Scoring, int(spec.Retriever.TopK))
	slices.Sort(spec.Scoring.Betas)
	slices.Sort(spec.GoldenSet.Tags)
	canonicalObjectives(spec.Objectives)
	canonicalConnection(spec.Retriever.Headers, spec.Retriever.Auth)
	if e := spec.Retriever.Embedding; e != nil {
		canonicalConnection(e.Headers, e.Auth)
	}
	spec.Retriever.Params = canonicalMap(s.Spec.Retriever.Params)
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
	if a := spec.Answer; a != nil {
		canonicalConnection(a.Headers, a.Auth)
		a.Params = canonicalMap(a.Params)
		a.Contexts = int32(answerContexts(a, primary))
		e.Answer, e.BLEUTokenizer = a, spec.Scoring.BLEUTokenizer
	}
	if j := spec.Judge; j != nil {
		canonicalConnection(j.Headers, j.Auth)
		j.ExtraBody = canonicalMap(j.ExtraBody)
		// By their content, not by where it lies.
		j.PromptRef = nil
		if j.Calibration != nil {
			j.Calibration.ConfigMapRef = v1alpha1.GoldenConfigMapReference{}
		}
		e.Judge, e.PromptDigest, e.LabelsDigest, e.Parser = j, refs.Prompt, refs.Labels, judge.ParserVersion
		if j.Provider == v1alpha1.JudgeLexical {
			e.Parser = judge.LexicalIdentity().ParserVersion
		}
	}
	if slices.ContainsFunc(spec.Objectives, func(o v1alpha1.Objective) bool { return o.MaxDrop != "" }) {
		spec.Baseline.Reference = "" // it decides nothing
		e.Baseline = &spec.Baseline
	}
	raw, err := json.Marshal(e)
	if err != nil {
		// Only a free map can hold what JSON cannot; the API server let no such thing in.
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonicalObjectives sorts them; no tag and an empty one are the same.
func canonicalObjectives(objectives []v1alpha1.Objective) {
	for i := range objectives {
		o := &objectives[i]
		if tag := tagOf(*o); tag == "" {
			o.Tag = nil
		} else {
			o.Tag = &tag
		}
	}
	slices.SortFunc(objectives, func(a, b v1alpha1.Objective) int {
		return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(tagOf(a), tagOf(b)))
	})
}

// canonicalConnection sorts headers and scopes. Headers whose names differ in
// case alone keep their order, for the last of them is the one that is sent.
func canonicalConnection(headers []v1alpha1.Header, auth *v1alpha1.Auth) {
	slices.SortStableFunc(headers, func(a, b v1alpha1.Header) int {
		return cmp.Compare(http.CanonicalHeaderKey(a.Name), http.CanonicalHeaderKey(b.Name))
	})
	if auth != nil && auth.OAuth2 != nil {
		slices.Sort(auth.OAuth2.Scopes)
	}
}

// canonicalMap writes a free map with sorted keys and without the spacing of its
// writer, every digit of a number kept; nil where there is nothing in it.
func canonicalMap(j *apiextensionsv1.JSON) *apiextensionsv1.JSON {
	m, err := freeMap(j)
	if err != nil {
		return j
	}
	if len(m) == 0 {
		return nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return j
	}
	return &apiextensionsv1.JSON{Raw: raw}
}

// tagOf gives an objective's tag as the golden set has tags: in NFC.
func tagOf(o v1alpha1.Objective) string {
	if o.Tag == nil {
		return ""
	}
	return norm.NFC.String(*o.Tag)
}
