package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/golden"
)

// bare is what one would write by hand: a loop of posts that decode the reply,
// as many at once as a run makes.
type bare struct {
	url  string
	http *http.Client
}

func newBare(url string) *bare {
	return &bare{url: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: parallelism}}}
}

type bareReply struct {
	Results []struct {
		ID       string         `json:"id"`
		Text     string         `json:"text"`
		Score    float64        `json:"score"`
		Metadata map[string]any `json:"metadata"`
	} `json:"results"`
}

func (c *bare) ask(question string) error {
	body, err := json.Marshal(map[string]any{"query": question, "top_k": results})
	if err != nil {
		return err
	}
	resp, err := c.http.Post(c.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var reply bareReply
	return json.Unmarshal(text, &reply)
}

func (c *bare) askAll(tb testing.TB, cases []golden.Case) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range parallelism {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(cases) {
					return
				}
				if err := c.ask(cases[i].Question); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkCalls compares a run with a bare loop over the same questions. The
// two take short turns and the ratio is the median over the turns, so that what
// else the machine does hits both alike.
func BenchmarkCalls(b *testing.B) {
	for _, way := range []struct{ name, mapping string }{
		{"Assay", ""},
		{"CEL", `response.results.map(r, {"id": r.id, "text": r.text, "score": r.score})`},
	} {
		b.Run(way.name, func(b *testing.B) {
			url, cases := stub(b, 300), goldenCases(500)
			loop, assay := newBare(url), client(b, url, way.mapping)
			byHand := func() { loop.askAll(b, cases) }
			byRun := func() { run(b, assay, cases, nil) }
			byHand() // opens the connections
			byRun()

			var bareTook, runTook time.Duration
			var ratios []float64
			for b.Loop() {
				x, y := took(byHand), took(byRun)
				bareTook, runTook = bareTook+x, runTook+y
				ratios = append(ratios, x.Seconds()/y.Seconds())
			}
			calls := float64(b.N * len(cases))
			b.ReportMetric(calls/bareTook.Seconds(), "bare-calls/s")
			b.ReportMetric(calls/runTook.Seconds(), "run-calls/s")
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "run/bare")
		})
	}
}

func took(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
