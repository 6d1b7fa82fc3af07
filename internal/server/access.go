package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/assay-dev/assay/api/v1alpha1"
)

const (
	// allowFor and denyFor are how long the API server's answer holds.
	allowFor = 10 * time.Second
	denyFor  = 5 * time.Second
	// maxAnswers bounds what callers with made-up tokens can make the server remember.
	maxAnswers = 4096
	// reviewTimeout bounds one question to the API server.
	reviewTimeout = 10 * time.Second
)

// ClusterAccess asks the API server who a caller is and what it may do, by
// TokenReview and SubjectAccessReview, and remembers the answers for seconds.
// Where the operator may not make these, as in a namespaced install, the same is
// asked with the caller's own token.
type ClusterAccess struct {
	tokens  authenticationclient.TokenReviewInterface
	reviews authorizationclient.SubjectAccessReviewInterface
	// own and ownAccess ask with the token that the context has.
	own       authenticationclient.SelfSubjectReviewInterface
	ownAccess authorizationclient.SelfSubjectAccessReviewInterface
	answers   *cache.LRUExpireCache
}

// NewAccess makes the Access to a cluster. The user of the config should be let
// create tokenreviews and subjectaccessreviews.
func NewAccess(config *rest.Config) (*ClusterAccess, error) {
	config = rest.CopyConfig(config)
	// A budget of its own: made-up tokens must not slow the controllers down.
	config.QPS, config.Burst, config.RateLimiter = 100, 200, nil
	config.Timeout = reviewTimeout
	authentication, authorization, err := reviewers(config)
	if err != nil {
		return nil, err
	}
	config = rest.AnonymousClientConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return callersToken{next} })
	ownAuthentication, ownAuthorization, err := reviewers(config)
	if err != nil {
		return nil, err
	}
	return &ClusterAccess{
		tokens:    authentication.TokenReviews(),
		reviews:   authorization.SubjectAccessReviews(),
		own:       ownAuthentication.SelfSubjectReviews(),
		ownAccess: ownAuthorization.SelfSubjectAccessReviews(),
		answers:   cache.NewLRUExpireCache(maxAnswers),
	}, nil
}

func reviewers(config *rest.Config) (*authenticationclient.AuthenticationV1Client, *authorizationclient.AuthorizationV1Client, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	authentication, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client that reviews tokens: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client that reviews access: %w", err)
	}
	return authentication, authorization, nil
}

// tokenKey is under what the context of a question has the token to ask with.
type tokenKey struct{}

// callersToken sends the token that the request's context has.
type callersToken struct{ next http.RoundTripper }

func (t callersToken) RoundTrip(r *http.Request) (*http.Response, error) {
	token, _ := r.Context().Value(tokenKey{}).(string)
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(r)
}

// answer is what the API server said; user is empty for a question of access.
type answer struct {
	allowed bool
	user    authenticationv1.UserInfo
}

// Authenticate gives the caller whose token it is, or ErrUnauthenticated.
func (a *ClusterAccess) Authenticate(ctx context.Context, token string) (Caller, error) {
	said, err := a.ask(ctx, "token", token, func(ctx context.Context) (answer, error) {
		review, err := a.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return a.whoAmI(ctx, token)
		case err != nil:
			return answer{}, fmt.Errorf("review a token: %w", err)
		}
		return answer{allowed: review.Status.Authenticated, user: review.Status.User}, nil
	})
	switch {
	case err != nil:
		return Caller{}, err
	case !said.allowed:
		return Caller{}, ErrUnauthenticated
	}
	return Caller{User: said.user, token: token}, nil
}

// whoAmI has the API server say itself whose token it is asked with.
func (a *ClusterAccess) whoAmI(ctx context.Context, token string) (answer, error) {
	review, err := a.own.Create(context.WithValue(ctx, tokenKey{}, token), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsUnauthorized(err):
		return answer{}, nil
	case err != nil:
		return answer{}, fmt.Errorf("ask the API server whose token it is given: %w", err)
	}
	known := review.Status.UserInfo.Username != user.Anonymous
	return answer{allowed: known, user: review.Status.UserInfo}, nil
}

// May reports whether the caller may do the verb to a resource of the group assay.dev.
func (a *ClusterAccess) May(ctx context.Context, caller Caller, verb, resource, namespace, name string) (bool, error) {
	asked := accessOf(caller.User)
	asked.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: resource,
		Verb: verb, Namespace: namespace, Name: name,
	}
	return a.may(ctx, caller, asked, fmt.Sprintf("%s %s in namespace %q", verb, resource, namespace))
}

// MayGet reports whether the caller may get a path that is no resource of the API
// server's, such as /metrics.
func (a *ClusterAccess) MayGet(ctx context.Context, caller Caller, path string) (bool, error) {
	asked := accessOf(caller.User)
	asked.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"}
	return a.may(ctx, caller, asked, "get "+path)
}

// may asks whether the caller may do what the review is about.
func (a *ClusterAccess) may(ctx context.Context, caller Caller, asked authorizationv1.SubjectAccessReviewSpec, what string) (bool, error) {
	said, err := a.ask(ctx, "access", asked, func(ctx context.Context) (answer, error) {
		review, err := a.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: asked}, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return a.mayI(ctx, caller.token, &asked, what)
		case err != nil:
			return answer{}, fmt.Errorf("review whether %q may %s: %w", caller.User.Username, what, err)
		}
		return answer{allowed: review.Status.Allowed && !review.Status.Denied}, nil
	})
	return said.allowed, err
}

// mayI asks with the caller's own token what the caller may do.
func (a *ClusterAccess) mayI(ctx context.Context, token string, asked *authorizationv1.SubjectAccessReviewSpec, what string) (answer, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: asked.ResourceAttributes, NonResourceAttributes: asked.NonResourceAttributes,
	}}
	review, err := a.ownAccess.Create(context.WithValue(ctx, tokenKey{}, token), review, metav1.CreateOptions{})
	switch {
	case apierrors.IsUnauthorized(err):
		return answer{}, nil // it expired just now
	case err != nil:
		return answer{}, fmt.Errorf("ask the API server whether the caller may %s: %w", what, err)
	}
	return answer{allowed: review.Status.Allowed && !review.Status.Denied}, nil
}

// accessOf is a review of what the user may do, without the what.
func accessOf(who authenticationv1.UserInfo) authorizationv1.SubjectAccessReviewSpec {
	spec := authorizationv1.SubjectAccessReviewSpec{User: who.Username, UID: who.UID, Groups: who.Groups}
	if len(who.Extra) > 0 {
		spec.Extra = make(map[string]authorizationv1.ExtraValue, len(who.Extra))
		for key, values := range who.Extra {
			spec.Extra[key] = authorizationv1.ExtraValue(values)
		}
	}
	return spec
}

// ask remembers answers, never errors. The key is a hash, so that no token stays in memory.
func (a *ClusterAccess) ask(ctx context.Context, kind string, question any, review func(context.Context) (answer, error)) (answer, error) {
	text, err := json.Marshal([]any{kind, question})
	if err != nil {
		return answer{}, fmt.Errorf("write a question to the API server: %w", err)
	}
	key := sha256.Sum256(text)
	if known, ok := a.answers.Get(key); ok {
		return known.(answer), nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	said, err := review(ctx)
	if err != nil {
		return answer{}, err
	}
	holds := denyFor
	if said.allowed {
		holds = allowFor
	}
	a.answers.Add(key, said, holds)
	return said, nil
}
