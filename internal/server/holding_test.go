package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// full has as many answers to one user held back as may be, for a minute of the
// bubble's time.
func full(t *testing.T, w *world) {
	t.Helper()
	for range maxHeldUser {
		go func() { w.call(t, "POST", suitePath+"?wait=60s", "all", "") }()
	}
	synctest.Wait()
}

func TestAUserHoldsOnlySoManyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		full(t, w)
		w.mu().Lock()
		before := len(w.started)
		w.mu().Unlock()
		got := w.call(t, "POST", suitePath+"?wait=1s", "all", "")
		refused(t, got, 429, suitePath, "leave wait out")
		if got.Header().Get("Retry-After") == "" {
			t.Error("it does not say when to call again")
		}
		w.mu().Lock()
		if len(w.started) != before {
			t.Error("a run was started all the same")
		}
		w.mu().Unlock()
		// Who does not wait is served.
		if got := w.call(t, "POST", suitePath, "all", ""); got.Code != 202 {
			t.Errorf("without wait the answer is %d", got.Code)
		}
		if got := w.call(t, "GET", historyPath, "all", ""); got.Code != 200 {
			t.Errorf("the history is answered %d", got.Code)
		}
		<-time.After(time.Minute + time.Second) // of the bubble: the answers go out
		synctest.Wait()
		if got := w.call(t, "POST", suitePath+"?wait=1s", "all", ""); got.Code != 202 {
			t.Errorf("when the others have ended the answer is %d", got.Code)
		}
	})
}

func TestHolding(t *testing.T) {
	h := newHolding(3, 2)
	begin := func(user string, want int) func() {
		t.Helper()
		end, err := h.begin(user)
		if want == 0 && err != nil || want != 0 && !isStatus(err, want) {
			t.Errorf("%s: got %v, want %d", user, err, want)
		}
		return end
	}
	first := begin("a", 0)
	begin("a", 0)
	begin("a", 429)
	begin("b", 0)
	begin("c", 503)
	begin("a", 429) // it is the user who has too many
	first()
	begin("c", 0)
	begin("a", 503)
	if len(h.byUser) != 3 || h.total != 3 {
		t.Errorf("%d are held, by %v", h.total, h.byUser)
	}
}

func TestNobodyHoldsWithoutWait(t *testing.T) {
	w := newWorld(t)
	for range 2 * maxHeldUser {
		if got := w.call(t, "POST", suitePath, "all", ""); got.Code != 202 {
			t.Fatalf("the answer is %d: %s", got.Code, got.Body)
		}
	}
}
