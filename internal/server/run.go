package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/stored"
)

// exampleID shows people what an id looks like.
const exampleID = "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b11"

// caseFilter says which of a run's cases a page has.
type caseFilter struct {
	limit               int
	after, tag, outcome string
}

// run answers with one run and a page of its cases.
func (s *server) run(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("suite")
	if !isUUID(id) {
		return badRequest("%.64q is no run id: an id is the EvalRun's UID, for example %s; the history of a suite lists those of its runs", id, exampleID)
	}
	values, err := query(r, "limit", "after", "tag", "outcome")
	if err != nil {
		return err
	}
	f := caseFilter{after: values.Get("after"), tag: values.Get("tag"), outcome: values.Get("outcome")}
	if f.limit, err = limit(values, "limit", defaultCases, maxCases); err != nil {
		return err
	}
	return s.runPage(w, r, strings.ToLower(id), f, values)
}

// runPage answers with a run, if the caller may get its suite.
func (s *server) runPage(w http.ResponseWriter, r *http.Request, id string, f caseFilter, values url.Values) error {
	doc, inStore, err := s.document(r, id)
	if err != nil {
		return err
	}
	if inStore {
		page, err := s.History.Cases(r.Context(), id, history.CaseQuery{Limit: f.limit, After: f.after, Tag: f.tag, Outcome: f.outcome})
		if err != nil {
			return storeProblem(err, "after")
		}
		doc.Cases, doc.Next = casesOf(page.Cases), page.Next
	} else if f.after != "" {
		return storeProblem(&history.BadCursorError{}, "after")
	}
	body, err := encode(doc)
	if err != nil {
		return err
	}
	h := w.Header()
	if doc.Next != "" && values != nil {
		h.Set("Link", nextPage(values, "after", doc.Next))
	}
	if doc.Verdict == "" {
		h.Set("Cache-Control", "no-store")
	} else {
		// It may be kept, and whoever wants it again has to be let in again.
		h.Set("Cache-Control", "private, no-cache")
		h.Set("ETag", etagOf(body))
		if r.Method != http.MethodPost && matches(r.Header.Values("If-None-Match"), etagOf(body)) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	write(w, http.StatusOK, "application/json", body)
	return nil
}

// document gives a run without its cases, and whether the store has it. The
// store may know less than the cluster: of a run that has not begun, and of one
// whose results it could not take.
func (s *server) document(r *http.Request, id string) (*report.Document, bool, error) {
	kept, err := s.History.Run(r.Context(), id)
	switch {
	case errors.Is(err, history.ErrNotFound), errors.Is(err, errNoHistory):
		doc, err := s.liveDocument(r, id)
		return doc, false, err
	case err != nil:
		return nil, false, storeProblem(err, "id")
	}
	if err := s.mayGet(r, kept.Namespace, kept.Suite); err != nil {
		return nil, false, err
	}
	doc, err := stored.Document(kept)
	if err == nil && kept.Verdict == "" {
		if run, err := s.Runs.Find(r.Context(), id); err == nil {
			complete(doc, run)
		}
	}
	return doc, true, err
}

// liveDocument gives a run that only the cluster knows.
func (s *server) liveDocument(r *http.Request, id string) (*report.Document, error) {
	run, err := s.Runs.Find(r.Context(), id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, noRun(id)
	case err != nil:
		return nil, unavailable(err, "the API server could not be asked for the run: try again later")
	}
	if err := s.mayGet(r, run.Namespace, run.Spec.SuiteRef.Name); err != nil {
		return nil, err
	}
	return documentOfObject(run), nil
}

func noRun(id string) *problem {
	return notFound("there is no run %s: it was never started, or the history keeps it no longer", id)
}

// etagOf is a strong ETag: the same bytes, the same tag.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// matches compares as If-None-Match does, weakly.
func matches(headers []string, etag string) bool {
	for _, part := range strings.Split(strings.Join(headers, ","), ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == etag {
			return true
		}
	}
	return false
}
