package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
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
type ClusterAccess struct {
	tokens  authenticationclient.TokenReviewInterface
	reviews authorizationclient.SubjectAccessReviewInterface
	answers *cache.LRUExpireCache
}

// NewAccess makes the Access to a cluster. The user of the config needs to
// create tokenreviews and subjectaccessreviews.
func NewAccess(config *rest.Config) (*ClusterAccess, error) {
	config = rest.CopyConfig(config)
	// A budget of its own: made-up tokens must not slow the controllers down.
	config.QPS, config.Burst, config.RateLimiter = 100, 200, nil
	config.Timeout = reviewTimeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	authentication, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make a client for TokenReviews: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make a client for SubjectAccessReviews: %w", err)
	}
	return &ClusterAccess{
		tokens:  authentication.TokenReviews(),
		reviews: authorization.SubjectAccessReviews(),
		answers: cache.NewLRUExpireCache(maxAnswers),
	}, nil
}

// answer is what the API server said; user is nil for a SubjectAccessReview.
type answer struct {
	allowed bool
	user    User
}

// Authenticate gives the user of a token, or ErrUnauthenticated.
func (a *ClusterAccess) Authenticate(ctx context.Context, token string) (User, error) {
	said, err := a.ask("token", token, func() (answer, error) {
		ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
		defer cancel()
		review, err := a.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil {
			return answer{}, fmt.Errorf("review a token: %w", err)
		}
		return answer{allowed: review.Status.Authenticated, user: review.Status.User}, nil
	})
	switch {
	case err != nil:
		return User{}, err
	case !said.allowed:
		return User{}, ErrUnauthenticated
	}
	return said.user, nil
}

// May reports whether the user may do the verb to a resource of the group assay.dev.
func (a *ClusterAccess) May(ctx context.Context, user User, verb, resource, namespace, name string) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: resource,
			Verb: verb, Namespace: namespace, Name: name,
		},
	}
	if len(user.Extra) > 0 {
		spec.Extra = make(map[string]authorizationv1.ExtraValue, len(user.Extra))
		for key, values := range user.Extra {
			spec.Extra[key] = authorizationv1.ExtraValue(values)
		}
	}
	said, err := a.ask("access", spec, func() (answer, error) {
		ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
		defer cancel()
		review, err := a.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			return answer{}, fmt.Errorf("review whether %q may %s %s in namespace %q: %w", user.Username, verb, resource, namespace, err)
		}
		return answer{allowed: review.Status.Allowed && !review.Status.Denied}, nil
	})
	return said.allowed, err
}

// ask remembers answers, never errors. The key is a hash, so that no token stays in memory.
func (a *ClusterAccess) ask(kind string, question any, review func() (answer, error)) (answer, error) {
	text, err := json.Marshal([]any{kind, question})
	if err != nil {
		return answer{}, fmt.Errorf("write a question to the API server: %w", err)
	}
	key := sha256.Sum256(text)
	if known, ok := a.answers.Get(key); ok {
		return known.(answer), nil
	}
	said, err := review()
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
