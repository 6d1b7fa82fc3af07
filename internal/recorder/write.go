package recorder

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/assay-dev/assay/internal/history"
)

// write writes batches as they come until Finish, and then what is left, as
// long as the store is given.
func (r *Recorder) write() Loss {
	w := &writer{Recorder: r, backoff: backoff.NewExponentialBackOff()}
	tick := time.NewTicker(batchDelay)
	defer tick.Stop()
	for {
		select {
		case <-r.wake:
		case <-tick.C:
		case <-r.closing:
			return w.finish()
		}
		if time.Now().Before(w.notBefore) {
			continue
		}
		if err := w.flush(context.Background()); err != nil {
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
		err := w.flush(ctx)
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

// flush writes the run's row where it has changed, and then all cases that wait.
func (w *writer) flush(ctx context.Context) error {
	if err := w.putRun(ctx); err != nil {
		return err
	}
	for {
		batch := w.batch()
		if len(batch) == 0 {
			return nil
		}
		err := w.attempt(ctx, func(ctx context.Context) error { return w.store.PutCases(ctx, w.uid(), batch) })
		if errors.Is(err, history.ErrInvalid) {
			err = w.oneByOne(ctx, batch)
		}
		if err != nil {
			return err
		}
		w.drop(len(batch))
	}
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

// batch is a copy of the cases that waited longest.
func (w *writer) batch() []history.Case {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]history.Case(nil), w.pending[:min(batchSize, len(w.pending))]...)
}

func (w *writer) drop(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.pending[:n] {
		w.bytes -= sizeOf(&w.pending[i])
	}
	w.pending = append([]history.Case(nil), w.pending[n:]...)
}
