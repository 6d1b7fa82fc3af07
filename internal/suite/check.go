package suite

import (
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/score"
)

// Check finds what the CRD's rules cannot: a schedule or a zone that does not
// exist, a mapping that does not compile, a selector that picks everything. It
// reads nothing but the suite. All findings come in one *Error, whose reason is
// that of the first.
func Check(s *v1alpha1.EvalSuite) error {
	found := checkSchedule(&s.Spec)
	if s.Spec.Retriever.URL == "" {
		found = append(found, checkUnread(s)...)
	} else if program, err := compile(s); err != nil {
		found = append(found, errorf(ReasonInvalidMapping, "spec.%w", err))
	} else if err := program.CheckTopK(int(s.Spec.Retriever.TopK)); err != nil {
		found = append(found, errorf(ReasonInvalidMapping, "spec.retriever.topK: %w", err))
	}
	if a := s.Spec.Answer; a != nil {
		if _, err := compileAnswer(s); err != nil {
			found = append(found, errorf(ReasonInvalidMapping, "spec.%w", err))
		}
		if a.CorpusVersion != "" && a.Results == "" {
			found = append(found, errorf(ReasonInvalidMapping, "spec.answer.corpusVersion is read by nobody, for the answer service does not retrieve by itself: move it to spec.retriever"))
		}
		found = append(found, checkHeaders(a.Headers, "spec.answer")...)
	}
	found = append(found, checkJudge(s.Spec.Judge)...)
	found = append(found, checkHeaders(s.Spec.Retriever.Headers, "spec.retriever")...)
	if e := s.Spec.Retriever.Embedding; e != nil {
		found = append(found, checkHeaders(e.Headers, "spec.retriever.embedding")...)
	}
	if sel := s.Spec.GoldenSet.ConfigMapSelector; sel != nil {
		if len(sel.MatchLabels)+len(sel.MatchExpressions) == 0 {
			found = append(found, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.configMapSelector is empty and would pick every ConfigMap of the namespace: give it matchLabels"))
		} else if _, err := metav1.LabelSelectorAsSelector(sel); err != nil {
			found = append(found, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.configMapSelector: %w", err))
		}
	}
	if _, err := score.NewScorer(scoreSpec(s, int(s.Spec.Retriever.TopK), RunOptions{})); err != nil {
		found = append(found, errorf(ReasonInvalidObjective, "spec.scoring: %w", err))
	}
	return join(found)
}

// checkUnread finds what nobody reads where the answer service retrieves by
// itself.
func checkUnread(s *v1alpha1.EvalSuite) []*Error {
	r := &s.Spec.Retriever
	var unread []string
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"preset", r.Preset != "" && r.Preset != v1alpha1.PresetAssay}, {"params", r.Params != nil},
		{"request", r.Request != ""}, {"query", r.Query != ""}, {"results", r.Results != ""}, {"error", r.Error != ""},
		{"corpusVersion", r.CorpusVersion != ""}, {"embedding", r.Embedding != nil}, {"headers", len(r.Headers) > 0},
		{"auth", r.Auth != nil}, {"tls", r.TLS != nil}, {"requestsPerSecond", r.RequestsPerSecond != 0},
	} {
		if field.given {
			unread = append(unread, "spec.retriever."+field.name)
		}
	}
	if len(unread) == 0 {
		return nil
	}
	return []*Error{errorf(ReasonInvalidMapping, "nobody reads %s, for the answer service retrieves by itself: move what the service needs to spec.answer, or give retriever.url", strings.Join(unread, ", "))}
}

// checkJudge finds what no model can be asked with, and an agreement that no
// judge can reach.
func checkJudge(j *v1alpha1.Judge) []*Error {
	if j == nil {
		return nil
	}
	found := checkHeaders(j.Headers, "spec.judge")
	if j.Provider != v1alpha1.JudgeLexical {
		if cfg, err := modelSettings(j); err != nil {
			found = append(found, err)
		} else if _, err := newModel(j, cfg); err != nil {
			found = append(found, err)
		}
	}
	if j.Calibration != nil {
		if _, err := minKappa(j.Calibration); err != nil {
			found = append(found, err)
		}
	}
	return found
}

// checkSchedule reads expression and zone each with a good other half, so that
// a mistake in both is said at once, and at its own field.
func checkSchedule(spec *v1alpha1.EvalSuiteSpec) []*Error {
	if spec.Schedule == "" {
		return nil
	}
	var found []*Error
	if _, err := schedule.Parse(spec.Schedule, ""); err != nil {
		found = append(found, errorf(ReasonInvalidSchedule, "spec.schedule: %w", err))
	}
	if _, err := schedule.Parse("0 0 * * *", spec.TimeZone); err != nil {
		found = append(found, errorf(ReasonInvalidSchedule, "spec.timeZone: %w", err))
	}
	return found
}

// checkHeaders finds values that are written out and that no request can carry.
func checkHeaders(headers []v1alpha1.Header, field string) []*Error {
	var found []*Error
	for i := range headers {
		if v := headers[i].Value; v != nil && hasControl(*v) {
			found = append(found, errorf(ReasonInvalidMapping, "%s.headers[%d].value holds a line break or another control character: a header is one line of text", field, i))
		}
	}
	return found
}

// hasControl says whether a header with this value would be refused by every
// HTTP client.
func hasControl(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// freeMap reads a free map, its numbers digit for digit.
func freeMap(j *apiextensionsv1.JSON) (map[string]any, error) {
	if j == nil || len(j.Raw) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(j.Raw)))
	decoder.UseNumber()
	m := map[string]any{}
	if err := decoder.Decode(&m); err != nil {
		return nil, fmt.Errorf("must be a map: %w", err)
	}
	return m, nil
}

// params gives retriever.params. Its error begins with the field, below spec.
func params(s *v1alpha1.EvalSuite) (map[string]any, error) {
	m, err := freeMap(s.Spec.Retriever.Params)
	if err != nil {
		return nil, fmt.Errorf("retriever.params %w", err)
	}
	return m, nil
}

// compile makes the mappings ready and holds params to them. Its error begins
// with the field, below spec.
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

// compileAnswer makes the answer service's mappings ready. Its error begins with
// the field, below spec.
func compileAnswer(s *v1alpha1.EvalSuite) (*answer.Program, error) {
	a := s.Spec.Answer
	program, err := answer.Compile(answer.Mappings{
		Request:       a.Request,
		Query:         a.Query,
		Output:        a.Output,
		Results:       a.Results,
		Error:         a.Error,
		CorpusVersion: a.CorpusVersion,
		Method:        string(a.Method),
	})
	if err != nil {
		return nil, err
	}
	p, err := freeMap(a.Params)
	if err != nil {
		return nil, fmt.Errorf("answer.params %w", err)
	}
	return program, program.CheckParams(p)
}

func scoreSpec(s *v1alpha1.EvalSuite, topK int, o RunOptions) score.Spec {
	ks, primary := Cutoffs(&s.Spec.Scoring, topK)
	spec := score.Spec{
		TopK:     topK,
		K:        ks,
		PrimaryK: primary,
		Betas:    s.Spec.Scoring.Betas,
		Unit:     score.Unit(s.Spec.Scoring.Unit),
	}
	if a := s.Spec.Answer; a != nil && (o.has(v1alpha1.StageAnswer) || a.Results != "") {
		spec.Answer, spec.Tokenizer = true, score.Tokenizer(s.Spec.Scoring.BLEUTokenizer)
	}
	if j := s.Spec.Judge; j != nil && spec.Answer && o.has(v1alpha1.StageJudge) {
		spec.Judge, spec.Relevance = true, j.ContextRelevance != nil && *j.ContextRelevance
	}
	for _, o := range s.Spec.Objectives {
		spec.Named = append(spec.Named, o.Metric)
	}
	return spec
}
