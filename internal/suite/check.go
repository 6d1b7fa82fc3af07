package suite

import (
	"encoding/json"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/score"
)

// Check finds what the CRD's rules cannot: a schedule or a zone that does not
// exist, a mapping that does not compile, a selector that picks everything. It
// reads nothing but the suite. All findings come in one *Error, whose reason is
// that of the first.
func Check(s *v1alpha1.EvalSuite) error {
	var found []*Error
	if s.Spec.Schedule != "" {
		if _, err := schedule.Parse(s.Spec.Schedule, s.Spec.TimeZone); err != nil {
			found = append(found, errorf(ReasonInvalidSchedule, "spec.schedule: %w", err))
		}
	}
	if _, err := compile(s); err != nil {
		found = append(found, errorf(ReasonInvalidMapping, "spec.%w", err))
	}
	if sel := s.Spec.GoldenSet.ConfigMapSelector; sel != nil {
		if len(sel.MatchLabels)+len(sel.MatchExpressions) == 0 {
			found = append(found, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.configMapSelector is empty and would pick every ConfigMap of the namespace: give it matchLabels"))
		} else if _, err := metav1.LabelSelectorAsSelector(sel); err != nil {
			found = append(found, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.configMapSelector: %w", err))
		}
	}
	if _, err := score.NewScorer(scoreSpec(s, int(s.Spec.Retriever.TopK))); err != nil {
		found = append(found, errorf(ReasonInvalidObjective, "spec.scoring: %w", err))
	}
	return join(found)
}

// join makes one error of many: the first one's reason, everybody's message.
func join(found []*Error) error {
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	all := &Error{Reason: found[0].Reason, Transient: true}
	messages := make([]string, len(found))
	causes := make([]error, len(found))
	for i, e := range found {
		messages[i], causes[i] = e.Message, e
		all.Transient = all.Transient && e.Transient
	}
	all.Message = strings.Join(messages, "; ")
	all.Err = errors.Join(causes...)
	return all
}

func params(s *v1alpha1.EvalSuite) (map[string]any, error) {
	p := s.Spec.Retriever.Params
	if p == nil || len(p.Raw) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(p.Raw)))
	decoder.UseNumber()
	m := map[string]any{}
	if err := decoder.Decode(&m); err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.retriever.params must be a map: %w", err)
	}
	return m, nil
}

func compile(s *v1alpha1.EvalSuite) (*retriever.Program, error) {
	r := &s.Spec.Retriever
	program, err := retriever.Compile(retriever.Mappings{
		Preset:        string(r.Preset),
		Request:       r.Request,
		Query:         r.Query,
		Results:       r.Results,
		Error:         r.Error,
		CorpusVersion: r.CorpusVersion,
		Method:        string(r.Method),
		HasEmbedding:  r.Embedding != nil,
	})
	if err != nil {
		return nil, err
	}
	p, err := params(s)
	if err != nil {
		return nil, err
	}
	return program, program.CheckParams(p)
}

func scoreSpec(s *v1alpha1.EvalSuite, topK int) score.Spec {
	ks, primary := Cutoffs(&s.Spec.Scoring, topK)
	spec := score.Spec{
		TopK:     topK,
		K:        ks,
		PrimaryK: primary,
		Betas:    s.Spec.Scoring.Betas,
		Unit:     score.Unit(s.Spec.Scoring.Unit),
	}
	for _, o := range s.Spec.Objectives {
		spec.Named = append(spec.Named, o.Metric)
	}
	return spec
}
