package judge

import (
	"context"
	"encoding/json"
	"fmt"
)

// memory is a cache that may fail, or not be there.
type memory struct {
	cache  Cache
	failed func(error)
}

// entry is how a result is kept, so that an empty object is none.
type entry[T any] struct {
	Result *T `json:"result"`
}

// remembered gives what the cache has under the key, else what ask gives, and
// keeps that. A failure is not kept.
func remembered[T any](ctx context.Context, m *memory, key string, valid func(*T) bool, ask func() (T, Usage, error)) (T, Usage, error) {
	if m.cache == nil {
		return ask()
	}
	var kept entry[T]
	if m.get(ctx, key, &kept) && kept.Result != nil && valid(kept.Result) {
		return *kept.Result, Usage{CacheHits: 1}, nil
	}
	result, usage, err := ask()
	if err == nil {
		m.put(ctx, key, entry[T]{&result})
	}
	return result, usage, err
}

func (m *memory) get(ctx context.Context, key string, into any) bool {
	data, err := m.cache.Get(ctx, key)
	if err == nil && data == nil {
		return false
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		m.report(fmt.Errorf("read a verdict from the cache: %w", err))
	}
	return err == nil
}

func (m *memory) put(ctx context.Context, key string, value any) {
	data, err := json.Marshal(value)
	if err == nil {
		err = m.cache.Put(ctx, key, data)
	}
	if err != nil {
		m.report(fmt.Errorf("keep a verdict in the cache: %w", err))
	}
}

func (m *memory) report(err error) {
	if m.failed != nil {
		m.failed(err)
	}
}
