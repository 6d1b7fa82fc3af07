package suite

import (
	"fmt"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/call"
)

// target is a URL that a suite has the operator ask, and its field.
type target struct{ field, url string }

// targets are all URLs that a suite names. What it leaves out is not among them.
func targets(s *v1alpha1.EvalSuite) []target {
	var all []target
	add := func(field, url string) {
		if url != "" {
			all = append(all, target{"spec." + field, url})
		}
	}
	login := func(field string, a *v1alpha1.Auth) {
		if a != nil && a.OAuth2 != nil {
			add(field+".auth.oauth2.tokenURL", a.OAuth2.TokenURL)
		}
	}
	if h := s.Spec.GoldenSet.HTTP; h != nil {
		add("goldenSet.http.url", h.URL)
	}
	r := &s.Spec.Retriever
	add("retriever.url", r.URL)
	login("retriever", r.Auth)
	if e := r.Embedding; e != nil {
		add("retriever.embedding.url", e.URL)
		login("retriever.embedding", e.Auth)
	}
	if a := s.Spec.Answer; a != nil {
		add("answer.url", a.URL)
		login("answer", a.Auth)
	}
	for i, e := range s.Spec.Endpoints {
		add(fmt.Sprintf("endpoints[%d].retrieverURL", i), e.RetrieverURL)
		add(fmt.Sprintf("endpoints[%d].answerURL", i), e.AnswerURL)
	}
	if j := s.Spec.Judge; j != nil && j.Provider != v1alpha1.JudgeLexical {
		add("judge.url", judgeURL(j))
		login("judge", j.Auth)
	}
	return all
}

// CheckEgress says which of the suite's URLs the operator's egress policy refuses
// whatever they are resolved to. What shows only then fails the call. All findings
// come in one *Error; without a policy there are none.
func CheckEgress(s *v1alpha1.EvalSuite, policy call.Egress) error {
	var found []*Error
	for _, t := range targets(s) {
		if err := call.CheckURL(policy, t.url); err != nil {
			found = append(found, errorf(ReasonEgressDenied, "%s: %w; use another URL, or ask who runs the operator", t.field, err))
		}
	}
	return join(found)
}
