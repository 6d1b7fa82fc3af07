package judge

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// scripted is a model that keeps what it was sent, and replies by a script.
type scripted struct {
	reply func(ctx context.Context, n int, r Request) (*Response, error)

	mu   sync.Mutex
	sent []Request
}

func (s *scripted) Complete(ctx context.Context, r Request) (*Response, error) {
	s.mu.Lock()
	s.sent = append(s.sent, r)
	n := len(s.sent)
	s.mu.Unlock()
	return s.reply(ctx, n, r)
}

func (s *scripted) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

// saying gives a model that says one text after the other.
func saying(texts ...string) *scripted {
	return &scripted{reply: func(_ context.Context, n int, _ Request) (*Response, error) {
		return &Response{Text: texts[n-1], Calls: 1, PromptTokens: 100, CompletionTokens: 10}, nil
	}}
}

// store is a cache in memory that can fail.
type store struct {
	mu      sync.Mutex
	entries map[string][]byte
	broken  bool
}

func (s *store) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return nil, errors.New("disk on fire")
	}
	return s.entries[key], nil
}

func (s *store) Put(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return errors.New("disk on fire")
	}
	if s.entries == nil {
		s.entries = map[string][]byte{}
	}
	s.entries[key] = value
	return nil
}

func grade(t *testing.T, j Judge, in Input) (Verdict, Usage) {
	t.Helper()
	v, usage, err := j.Grade(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return v, usage
}
