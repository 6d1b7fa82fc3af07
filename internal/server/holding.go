package server

import (
	"net/http"
	"sync"
)

// How many answers are held at once: in all, and for one user, who must leave room
// for others.
const (
	maxHeld     = 256
	maxHeldUser = 64
)

// holding counts the answers that are held back until a run is done. Each keeps a
// connection, and asks the cache for its run over and over.
type holding struct {
	most, mostUser int

	mu     sync.Mutex
	total  int
	byUser map[string]int
}

func newHolding(most, mostUser int) *holding {
	return &holding{most: most, mostUser: mostUser, byUser: map[string]int{}}
}

// begin takes a place for an answer to the user, which end gives back.
func (h *holding) begin(user string) (end func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.byUser[user] >= h.mostUser:
		return nil, newProblem(http.StatusTooManyRequests, "%d calls of %q are held already: leave wait out and ask for the run, or call again later", h.mostUser, user)
	case h.total >= h.most:
		return nil, newProblem(http.StatusServiceUnavailable, "%d calls are held already: leave wait out and ask for the run, or call again later", h.most)
	}
	h.total++
	h.byUser[user]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.total--
		if h.byUser[user]--; h.byUser[user] == 0 {
			delete(h.byUser, user)
		}
	}, nil
}
