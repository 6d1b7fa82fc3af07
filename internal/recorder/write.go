package recorder

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/assay-dev/assay/internal/history"
)

// write writes until Finish whenever a batch is full, and once a while what
// waits then; and in the end what is left, as long as the store is given. A batch
// costs a wait for the disk, however small it is.
func (r *Recorder) write() Loss {
	w := &writer{Recorder: r, backoff: backoff.NewExponentialBackOff()}
	tick := time.NewTicker(batchDelay)
	defer tick.Stop()
	for {
		n := 0
		select {
		case <-r.wake:
			n = w.waiting() / batchSize * batchSize
			tick.Reset(batchDelay)
		case <-tick.C:
			n = w.waiting()
		case <-r.closing:
			return w.finish()
		}
		if time.Now().Before(w.notBefore) {
			continue
		}
		if err := w.flush(context.Background(), n); err != nil {
			w.err = err
			w.notBefore = time.Now().Add(w.backoff.NextBackOff())
			continue
		}
		w.backoff.Reset()
	}
}

// writer is the state of the goroutine that writes.
type writer struct {
	*Recorder
	backoff   *backoff.ExponentialBackOff
	notBefore time.Time
	err       error
	refused   int
	// corpus is that of the run's row as it was written last; begun is true once it was.
	corpus string
	begun  bool
}

// finish writes all that waits and the run's row, again and again until it
// succeeds or the time is up.
func (w *writer) finish() Loss {
	ctx, cancel := context.WithTimeout(context.Background(), finishWithin)
	defer cancel()
	w.backoff.Reset()
	w.begun = false // the run's row has changed
	for {
		err := w.flush(ctx, w.waiting())
		if err == nil {
			break
		}
		w.err = err
		pause := time.NewTimer(w.backoff.NextBackOff())
		select {
		case <-pause.C:
			continue
		case <-ctx.Done():
			pause.Stop()
		}
		break
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	loss := Loss{Cases: w.lost + w.refused + len(w.pending), Run: !w.begun, Err: w.err}
	if loss.Any() && loss.Err == nil {
		loss.Err = errBehind
	}
	return loss
}

// errBehind is a store that works, but slower than the run.
var errBehind = errors.New("the store is slower than the run")

// flush writes the run's row where it has changed, and then the n cases that have
// waited longest.
func (w *writer) flush(ctx context.Context, n int) error {
	if err := w.putRun(ctx); err != nil {
		return err
	}
	for n > 0 {
		batch := w.batch(n)
		err := w.attempt(ctx, func(ctx context.Context) error { return w.store.PutCases(ctx, w.uid(), batch) })
		if errors.Is(err, history.ErrInvalid) {
			err = w.oneByOne(ctx, batch)
		}
		if err != nil {
			return err
		}
		w.drop(len(batch))
		n -= len(batch)
	}
	return nil
}

func (w *writer) putRun(ctx context.Context) error {
	w.mu.Lock()
	run := w.run
	w.mu.Unlock()
	if w.begun && run.CorpusVersion == w.corpus {
		return nil
	}
	if err := w.attempt(ctx, func(ctx context.Context) error { return w.store.PutRun(ctx, run) }); err != nil {
		return err
	}
	w.begun, w.corpus = true, run.CorpusVersion
	return nil
}

// oneByOne keeps what can be kept of a batch that holds a row no store takes.
func (w *writer) oneByOne(ctx context.Context, batch []history.Case) error {
	refused := 0
	for i := range batch {
		err := w.attempt(ctx, func(ctx context.Context) error { return w.store.PutCases(ctx, w.uid(), batch[i:i+1]) })
		switch {
		case errors.Is(err, history.ErrInvalid):
			w.err = err
			refused++
		case err != nil:
			return err // the batch comes again
		}
	}
	w.refused += refused
	return nil
}

func (w *writer) attempt(ctx context.Context, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptWithin)
	defer cancel()
	return write(ctx)
}

func (w *writer) uid() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.run.UID
}

// waiting is how many cases are not written yet.
func (w *writer) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pending)
}

// batch is a copy of the cases that have waited longest, at most n of them.
func (w *writer) batch(n int) []history.Case {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.pending[:min(batchSize, n)])
}

func (w *writer) drop(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.pending[:n] {
		w.bytes -= sizeOf(&w.pending[i])
	}
	w.pending = slices.Clone(w.pending[n:])
}
