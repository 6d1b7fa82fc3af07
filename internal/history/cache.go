package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/assay-dev/assay/internal/judge"
)

const (
	// DefaultVerdictAge is how long a verdict that nobody uses is kept.
	DefaultVerdictAge = 90 * 24 * time.Hour
	// DefaultMaxVerdicts is how many verdicts are kept.
	DefaultMaxVerdicts = 1_000_000
	// touchAfter is how exactly it is known when a verdict was used: a run that
	// finds all of them would otherwise write as many rows as one that finds none.
	touchAfter = 24 * time.Hour
	// pruneVerdicts is how many verdicts one statement deletes.
	pruneVerdicts = 1000
)

// Cache gives the verdicts that runs have in common.
func (s *Store) Cache() judge.Cache { return cache{s} }

type cache struct{ store *Store }

// Get implements judge.Cache.
func (c cache) Get(ctx context.Context, key string) ([]byte, error) {
	return c.store.CacheGet(ctx, key)
}

// Put implements judge.Cache.
func (c cache) Put(ctx context.Context, key string, value []byte) error {
	return c.store.CachePut(ctx, key, value)
}

// CacheGet gives what CachePut kept under the key; nil where there is nothing.
func (s *Store) CacheGet(ctx context.Context, key string) ([]byte, error) {
	if !isKey(key) {
		return nil, nil
	}
	var (
		value []byte
		used  int64
	)
	err := s.read.QueryRowContext(ctx, s.text(`SELECT value, used_us FROM judge_cache WHERE key = $1`), key).Scan(&value, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a verdict from the history: %w", s.said(ctx, err))
	}
	if now := s.now(); now.Sub(time.UnixMicro(used)) >= touchAfter {
		// A verdict that stays as it was, because the disk is full, is a good one all the same.
		_, _ = s.write.ExecContext(ctx, s.text(`UPDATE judge_cache SET used_us = $2 WHERE key = $1`), key, now.UnixMicro())
	}
	if value == nil {
		value = []byte{}
	}
	return value, nil
}

// CachePut keeps a value under the key, in place of the one that is there.
func (s *Store) CachePut(ctx context.Context, key string, value []byte) error {
	if !isKey(key) {
		return fmt.Errorf("write a verdict into the history: a key of %d bytes %w: want 1 to %d bytes of text", len(key), ErrInvalid, maxKey)
	}
	if value == nil {
		value = []byte{}
	}
	_, err := s.write.ExecContext(ctx, s.text(`INSERT INTO judge_cache (key, value, created_us, used_us) VALUES ($1, $2, $3, $3)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, created_us = excluded.created_us, used_us = excluded.used_us`),
		key, value, s.now().UnixMicro())
	if err != nil {
		return fmt.Errorf("write a verdict into the history: %w", s.said(ctx, err))
	}
	return nil
}

// isKey says whether both engines take the key as it is. To clean it, as texts
// are, could make one key of two.
func isKey(key string) bool { return key != "" && len(key) <= maxKey && clean(key) == key }

// pruneCache deletes verdicts that were not used for too long, and of too many
// those that were not used longest.
func (s *Store) pruneCache(ctx context.Context, r Retention, now time.Time) (deleted int64, err error) {
	age, most := r.VerdictMaxAge, int64(r.MaxVerdicts)
	if age == 0 {
		age = DefaultVerdictAge
	}
	if most == 0 {
		most = DefaultMaxVerdicts
	}
	if age > 0 {
		if deleted, err = s.deleteVerdicts(ctx, now.Add(-age).UnixMicro(), math.MaxInt64); err != nil {
			return deleted, err
		}
	}
	if most < 0 {
		return deleted, nil
	}
	var kept int64
	if err := s.read.QueryRowContext(ctx, `SELECT COUNT(*) FROM judge_cache`).Scan(&kept); err != nil {
		return deleted, err
	}
	more, err := s.deleteVerdicts(ctx, math.MaxInt64, kept-most)
	return deleted + more, err
}

// deleteVerdicts deletes the verdicts that were last used before a time, at most
// so many and the oldest first, some at a time for writers to come between.
func (s *Store) deleteVerdicts(ctx context.Context, usedBefore, most int64) (deleted int64, err error) {
	for deleted < most {
		some := min(most-deleted, pruneVerdicts)
		result, err := s.write.ExecContext(ctx, s.text(`DELETE FROM judge_cache WHERE key IN (SELECT key FROM judge_cache WHERE used_us < $1 ORDER BY used_us, key LIMIT $2)`),
			usedBefore, some)
		if err != nil {
			return deleted, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return deleted, err
		}
		if deleted += n; n < some {
			break
		}
	}
	return deleted, nil
}
