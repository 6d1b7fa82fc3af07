package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// reviewer is an API server that answers reviews, and counts them.
type reviewer struct {
	*httptest.Server
	reviews atomic.Int32
	last    atomic.Pointer[authorizationv1.SubjectAccessReviewSpec]
	fails   atomic.Bool
	// forbids has the operator ask about nobody but those whose token it sends.
	forbids atomic.Bool
}

func newReviewer(t *testing.T) *reviewer {
	t.Helper()
	v := &reviewer{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.reviews.Add(1)
		if v.fails.Load() {
			http.Error(w, "no etcd", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "/self") {
			v.answerAboutWhoAsks(w, r)
			return
		}
		if v.forbids.Load() {
			refuseReview(w, http.StatusForbidden, metav1.StatusReasonForbidden)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
			var review authenticationv1.TokenReview
			_ = json.NewDecoder(r.Body).Decode(&review)
			if name, good := strings.CutPrefix(review.Spec.Token, "good-"); good {
				review.Status.Authenticated = true
				review.Status.User = authenticationv1.UserInfo{Username: name, UID: "u", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"e": {"1", "2"}}}
			}
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(review)
			return
		}
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		v.last.Store(&review.Spec)
		review.Status.Allowed = review.Spec.User == "reader" && isGet(review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(v.Close)
	return v
}

// answerAboutWhoAsks answers about the user whose token the request has.
func (v *reviewer) answerAboutWhoAsks(w http.ResponseWriter, r *http.Request) {
	name, good := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer good-")
	if !good {
		refuseReview(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
		return
	}
	var answer any
	if strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
		answer = authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: name}}}
	} else {
		var review authorizationv1.SelfSubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.Status.Allowed = name == "reader" && isGet(review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
		answer = review
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(answer)
}

func isGet(resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) bool {
	if path != nil {
		return path.Verb == "get" && path.Path == metricsPath
	}
	return resource.Verb == "get"
}

func refuseReview(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason,
	})
}

func (v *reviewer) access(t *testing.T) *ClusterAccess {
	t.Helper()
	a, err := NewAccess(&rest.Config{Host: v.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAccessAsksTheAPIServer(t *testing.T) {
	v := newReviewer(t)
	a := v.access(t)
	user, err := a.Authenticate(t.Context(), "good-reader")
	if err != nil || user.User.Username != "reader" {
		t.Fatalf("the user is %+v, %v", user, err)
	}
	if _, err := a.Authenticate(t.Context(), "bad"); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a bad token is %v", err)
	}
	if may, err := a.May(t.Context(), user, "get", "evalsuites", "rag", "docs-bot"); !may || err != nil {
		t.Errorf("get is %t, %v", may, err)
	}
	want := &authorizationv1.SubjectAccessReviewSpec{
		User: "reader", UID: "u", Groups: []string{"g"}, Extra: map[string]authorizationv1.ExtraValue{"e": {"1", "2"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "assay.dev", Version: "v1alpha1", Resource: "evalsuites", Verb: "get", Namespace: "rag", Name: "docs-bot"},
	}
	if diff := cmp.Diff(want, v.last.Load()); diff != "" {
		t.Error(diff)
	}
	if may, err := a.May(t.Context(), user, "create", "evalruns", "rag", ""); may || err != nil {
		t.Errorf("create is %t, %v", may, err)
	}
}

// TestAccessWithTheCallersOwnToken is a namespaced install, where the operator may
// ask about nobody else.
func TestAccessWithTheCallersOwnToken(t *testing.T) {
	v := newReviewer(t)
	v.forbids.Store(true)
	a, err := NewAccess(&rest.Config{Host: v.URL, BearerToken: "good-operator", ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	for token, may := range map[string]bool{"good-reader": true, "good-other": false, "good-operator": false} {
		caller, err := a.Authenticate(t.Context(), token)
		if err != nil || "good-"+caller.User.Username != token {
			t.Fatalf("the user of %s is %+v, %v", token, caller.User, err)
		}
		if got, err := a.May(t.Context(), caller, "get", "evalsuites", "rag", "docs-bot"); got != may || err != nil {
			t.Errorf("%s may get: %t, %v", token, got, err)
		}
		if got, err := a.May(t.Context(), caller, "create", "evalruns", "rag", ""); got || err != nil {
			t.Errorf("%s may create: %t, %v", token, got, err)
		}
	}
	for _, token := range []string{"bad", "good-" + user.Anonymous} {
		if caller, err := a.Authenticate(t.Context(), token); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%s is %+v, %v", token, caller, err)
		}
	}
	// A token that expired between the two questions lets nobody in.
	if may, err := a.May(t.Context(), Caller{User: authenticationv1.UserInfo{Username: "late"}, token: "bad"}, "get", "evalsuites", "rag", "docs-bot"); may || err != nil {
		t.Errorf("with a token that expired: %t, %v", may, err)
	}
	v.fails.Store(true)
	if _, err := a.Authenticate(t.Context(), "good-late"); err == nil || errors.Is(err, ErrUnauthenticated) {
		t.Errorf("an outage is %v", err)
	}
}

func TestAccessRemembersForSeconds(t *testing.T) {
	v := newReviewer(t)
	a := v.access(t)
	clock := clocktesting.NewFakeClock(monday)
	a.answers = cache.NewLRUExpireCacheWithClock(maxAnswers, clock)
	user := callerNamed("reader")
	asks := map[string]func(){
		"allow": func() { _, _ = a.May(t.Context(), user, "get", "evalsuites", "rag", "docs-bot") },
		"deny":  func() { _, _ = a.May(t.Context(), user, "create", "evalruns", "rag", "") },
		"token": func() { _, _ = a.Authenticate(t.Context(), "good-reader") },
		"bad":   func() { _, _ = a.Authenticate(t.Context(), "bad") },
	}
	for name, holds := range map[string]time.Duration{"allow": allowFor, "deny": denyFor, "token": allowFor, "bad": denyFor} {
		before := v.reviews.Load()
		asks[name]()
		asks[name]()
		clock.Step(holds - time.Millisecond)
		asks[name]()
		if got := v.reviews.Load() - before; got != 1 {
			t.Errorf("%s is asked %d times within %s", name, got, holds)
		}
		clock.Step(2 * time.Millisecond)
		asks[name]()
		if got := v.reviews.Load() - before; got != 2 {
			t.Errorf("%s is asked %d times after %s", name, got, holds)
		}
	}
	// Nobody gets another's answer.
	before := v.reviews.Load()
	_, _ = a.May(t.Context(), Caller{User: authenticationv1.UserInfo{Username: "reader", Groups: []string{"g"}}}, "get", "evalsuites", "rag", "docs-bot")
	_, _ = a.May(t.Context(), callerNamed("other"), "get", "evalsuites", "rag", "docs-bot")
	_, _ = a.May(t.Context(), user, "get", "evalsuites", "rag", "other")
	if got := v.reviews.Load() - before; got != 3 {
		t.Errorf("three questions are asked %d times", got)
	}
}

func TestAccessRemembersSoMuch(t *testing.T) {
	a := newReviewer(t).access(t)
	for i := range 2 * maxAnswers {
		_, _ = a.ask(t.Context(), "token", strconv.Itoa(i), func(context.Context) (answer, error) { return answer{}, nil })
	}
	if got := len(a.answers.Keys()); got != maxAnswers {
		t.Errorf("it remembers %d answers", got)
	}
}

func TestAccessInAnOutage(t *testing.T) {
	v := newReviewer(t)
	a := v.access(t)
	v.fails.Store(true)
	for range 2 { // an error is not remembered
		if _, err := a.Authenticate(t.Context(), "good-reader"); err == nil || errors.Is(err, ErrUnauthenticated) {
			t.Errorf("an outage is %v", err)
		}
		if may, err := a.May(t.Context(), callerNamed("reader"), "get", "evalsuites", "rag", "docs-bot"); may || err == nil {
			t.Errorf("an outage is %t, %v", may, err)
		}
	}
	v.fails.Store(false)
	if _, err := a.Authenticate(t.Context(), "good-reader"); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	v.Close()
	w := newWorld(t)
	w.handler = New(Options{History: w.memory, Runs: w.cluster, Access: a})
	refused(t, w.call(t, "GET", historyPath, "good-other", ""), 503, historyPath, "API server")
}
