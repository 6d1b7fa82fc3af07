package bench

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/assay-dev/assay/internal/eval"
)

const mib = 1 << 20

// heap is what the program's objects take, garbage that is not yet collected
// included.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// settled is heap without garbage.
func settled() uint64 {
	runtime.GC()
	return heap()
}

// footprint runs n cases over results of a text's length and gives by how much
// the heap grew at its peak, and what is left of the run at its end. Like a run
// document does, it keeps every case's result.
func footprint(tb testing.TB, n, textBytes int) (peak, left uint64) {
	tb.Helper()
	c, cases := client(tb, stub(tb, textBytes), ""), goldenCases(n)
	kept := make([]eval.CaseResult, 0, n)
	before := settled()
	var top uint64
	r := run(tb, c, cases, func(res eval.CaseResult) {
		kept = append(kept, res)
		if len(kept)%100 == 0 {
			top = max(top, heap())
		}
	})
	top = max(top, heap())
	after := settled()
	runtime.KeepAlive(kept)
	runtime.KeepAlive(r)
	return top - min(top, before), after - min(after, before)
}

func BenchmarkMemory(b *testing.B) {
	var peak, left uint64
	for b.Loop() {
		p, l := footprint(b, 20_000, 300)
		peak, left = max(peak, p), max(left, l)
	}
	b.ReportMetric(float64(peak)/mib, "peak-MiB")
	b.ReportMetric(float64(left)/mib, "left-MiB")
}

func TestALargeRunStaysSmall(t *testing.T) {
	peak, left := footprint(t, 20_000, 300)
	t.Logf("the heap grew by %d MiB at its peak, %d MiB are left", peak/mib, left/mib)
	if peak > 200*mib {
		t.Errorf("the heap grew by %d MiB", peak/mib)
	}
}

// Twenty times the text must leave no more behind: 2,000 cases of 60 kB would be
// 120 MB.
func TestWhatIsLeftDoesNotGrowWithTheText(t *testing.T) {
	const n = 2000
	_, small := footprint(t, n, 300)
	_, large := footprint(t, n, 6000)
	t.Logf("%d KiB are left of 300 bytes a result, %d KiB of 6,000", small>>10, large>>10)
	if large > small+2*mib {
		t.Errorf("%d KiB are left of 300 bytes a result, but %d KiB of 6,000", small>>10, large>>10)
	}
}
