package schedule

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// MaxWaiting is how many runs of one suite may wait.
const MaxWaiting = 10

// QueueFacts are what the admission of runs rests on.
type QueueFacts struct {
	// Runs are the unfinished runs of all suites, in any order.
	Runs []QueuedRun
	// Limit is how many runs may be active in the operator.
	Limit int
}

// QueuedRun is a run that is active or waits.
type QueuedRun struct {
	Namespace, Suite, Name, UID string
	CreatedAt                   time.Time
	Active                      bool
}

// QueueDecision says what becomes of the runs that wait; those it does not name
// go on waiting.
type QueueDecision struct {
	// Start are the UIDs of the runs that start now, in this order.
	Start []string
	// Full are the UIDs of the runs that end, because too many of their suite wait.
	Full []string
}

// Admit decides which waiting runs start. A suite has one active run, and its
// others wait in the order of their creation. The namespace with the fewest
// active runs comes first, so that a thousand suites of one do not keep the
// only suite of another waiting; between equals, the oldest run does.
func Admit(f QueueFacts) QueueDecision {
	suites := map[suiteKey]*line{}
	active := map[string]int{}
	free := f.Limit
	for _, r := range f.Runs {
		key := suiteKey{r.Namespace, r.Suite}
		if suites[key] == nil {
			suites[key] = &line{}
		}
		if r.Active {
			suites[key].active = true
			active[r.Namespace]++
			free--
		} else {
			suites[key].waiting = append(suites[key].waiting, r)
		}
	}

	heads := map[string][]QueuedRun{}
	for key, l := range suites {
		slices.SortFunc(l.waiting, byCreation)
		if !l.active && len(l.waiting) > 0 {
			heads[key.namespace] = append(heads[key.namespace], l.waiting[0])
		}
	}
	order := make(fairOrder, 0, len(heads))
	for namespace, runs := range heads {
		slices.SortFunc(runs, byCreation)
		order = append(order, &share{active: active[namespace], heads: runs})
	}
	heap.Init(&order)

	var d QueueDecision
	for ; free > 0 && len(order) > 0; free-- {
		next := order[0]
		run := next.heads[0]
		d.Start = append(d.Start, run.UID)
		l := suites[suiteKey{run.Namespace, run.Suite}]
		l.waiting = l.waiting[1:]
		next.active++
		if next.heads = next.heads[1:]; len(next.heads) == 0 {
			heap.Pop(&order)
		} else {
			heap.Fix(&order, 0)
		}
	}
	d.Full = overflow(suites)
	return d
}

// overflow returns the runs beyond those that may wait, the newest of each suite.
func overflow(suites map[suiteKey]*line) []string {
	var full []QueuedRun
	for _, l := range suites {
		if len(l.waiting) > MaxWaiting {
			full = append(full, l.waiting[MaxWaiting:]...)
		}
	}
	slices.SortFunc(full, byCreation)
	var uids []string
	for _, r := range full {
		uids = append(uids, r.UID)
	}
	return uids
}

type suiteKey struct{ namespace, suite string }

// line is what waits for one suite, oldest first.
type line struct {
	active  bool
	waiting []QueuedRun
}

// share is a namespace that has runs to start, oldest first, at most one a suite.
type share struct {
	active int
	heads  []QueuedRun
}

// fairOrder is a heap of the namespaces.
type fairOrder []*share

func (o fairOrder) Len() int { return len(o) }
func (o fairOrder) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(o[i].active, o[j].active), byCreation(o[i].heads[0], o[j].heads[0])) < 0
}
func (o fairOrder) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o *fairOrder) Push(x any)   { *o = append(*o, x.(*share)) }
func (o *fairOrder) Pop() any {
	last := len(*o) - 1
	popped := (*o)[last]
	*o = (*o)[:last]
	return popped
}

func byCreation(a, b QueuedRun) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
