package score

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"
)

// Scorer scores one case after another. It keeps scratch space, so that a case
// costs no allocation, and is therefore not safe for concurrent use: give each
// worker a Clone.
type Scorer struct {
	metrics []Metric
	// columns are those of retrieval, with which metrics begins.
	columns []column
	// place of the columns behind them, by family.
	place     map[string]int
	tokenizer Tokenizer
	topK      int
	unit      Unit
	// cuts are the cut-offs in use, ascending.
	cuts []int
	// discount of nDCG by position, from 0.
	discount []float64

	scratch
}

// column is a metric made ready to be computed.
type column struct {
	family string
	k      int
	// cut is the index of k in cuts.
	cut int
	// beta2 is the square of beta.
	beta2 float64
}

// Ranked is one result that counted, after the unit rule and the cut at topK.
type Ranked struct {
	// Index of the result in the list that was scored.
	Index int
	// Relevant is true where the result counts as relevant: at the first
	// position of a relevant id, not where it is repeated.
	Relevant bool
}

// scratch is what one case leaves behind for the next to reuse.
type scratch struct {
	index  map[string]int // relevant id in NFC → its place in grades and found
	grades []float64      // as shares of the case's highest, so that no sum overflows
	found  []bool
	ideal  []float64 // grades, highest first
	seen   map[string]struct{}
	ranked []Ranked
	at     []tally // by cut
	iter   norm.Iter
	buf    []byte
}

// tally is what is known at a cut-off.
type tally struct {
	hits                    int
	dcg, idealDCG, precsSum float64
}

// NewScorer plans the columns of a spec. It refuses a topK or cut-off that
// cannot be met, a bad beta, and a name that is no metric.
func NewScorer(spec Spec) (*Scorer, error) {
	metrics, err := columns(spec)
	if err != nil {
		return nil, err
	}
	s := &Scorer{metrics: metrics, place: map[string]int{}, tokenizer: spec.tokenizer(), topK: spec.TopK, unit: spec.Unit}
	switch s.unit {
	case Chunk, Document:
	case "":
		s.unit = Chunk
	default:
		return nil, fmt.Errorf("plan metrics: unit %q is neither Chunk nor Document", spec.Unit)
	}
	for _, m := range metrics {
		if m.K > 0 {
			s.cuts = append(s.cuts, m.K)
		}
	}
	slices.Sort(s.cuts)
	s.cuts = slices.Compact(s.cuts)
	for i, m := range metrics {
		if m.Stage != RetrievalStage {
			s.place[m.Family] = i
			continue
		}
		c := column{family: m.Family, k: m.K}
		if m.K > 0 {
			c.cut, _ = slices.BinarySearch(s.cuts, m.K)
		}
		switch m.Family {
		case F1:
			c.beta2 = 1
		case FBeta:
			b, err := strconv.ParseFloat(m.Beta, 64)
			if err != nil {
				return nil, fmt.Errorf("plan metrics: read beta %q: %w", m.Beta, err)
			}
			c.beta2 = b * b
		}
		s.columns = append(s.columns, c)
	}
	s.discount = make([]float64, s.topK)
	for i := range s.discount {
		s.discount[i] = 1 / math.Log2(float64(i+2))
	}
	s.scratch = newScratch(len(s.cuts))
	return s, nil
}

func newScratch(cuts int) scratch {
	return scratch{index: map[string]int{}, seen: map[string]struct{}{}, at: make([]tally, cuts)}
}

// Clone gives a scorer of the same metrics with scratch space of its own.
func (s *Scorer) Clone() *Scorer {
	c := *s
	c.scratch = newScratch(len(s.cuts))
	return &c
}

// Metrics lists the columns of the values, always in the same order. The caller
// must not change it.
func (s *Scorer) Metrics() []Metric { return s.metrics }

// Unit is what counts as one result.
func (s *Scorer) Unit() Unit { return s.unit }

// Ranked lists the results that the last Score counted, best first. It is valid
// until the next Score.
func (s *Scorer) Ranked() []Ranked { return s.ranked }

// NewValues makes a row of values, as long as Metrics, in which no column has one.
func (s *Scorer) NewValues() []float64 {
	values := make([]float64, len(s.metrics))
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}

// Score computes the retrieval metrics of one case: each gets a number from 0 to
// 1 in values, which must be as long as Metrics, and rank is the position of the
// first relevant result, 0 where there is none. Ids are compared after Unicode
// NFC. Only an id that has to be kept and is not in that form costs an
// allocation: a relevant one, or a document's.
//
// Without a relevant id there is nothing to find, and no metric has a value.
func (s *Scorer) Score(relevant []Relevant, retrieved []Item, values []float64) (rank int) {
	s.learn(relevant)
	rank, hitsAtR := s.walk(retrieved)
	s.rankIdeally()
	n := float64(len(s.grades))
	values = values[:len(s.columns)]
	for i, c := range s.columns {
		values[i] = 0
		if n == 0 {
			values[i] = math.NaN()
			continue
		}
		switch c.family {
		case MRR:
			if rank > 0 && (c.k == 0 || rank <= c.k) {
				values[i] = 1 / float64(rank)
			}
		case RPrecision:
			values[i] = float64(hitsAtR) / n
		default:
			values[i] = c.value(s.at[c.cut], n)
		}
	}
	return rank
}

// value of a metric with a cut-off, over n relevant ids.
func (c column) value(at tally, n float64) float64 {
	precision, recall := float64(at.hits)/float64(c.k), float64(at.hits)/n
	switch c.family {
	case HitRate:
		if at.hits > 0 {
			return 1
		}
		return 0
	case Precision:
		return precision
	case Recall:
		return recall
	case F1, FBeta:
		if at.hits == 0 {
			return 0
		}
		return min(1, (1+c.beta2)*precision*recall/(float64(c.beta2*precision)+recall))
	case NDCG:
		// Rounding may lift a perfect list a hair above 1.
		return min(1, at.dcg/at.idealDCG)
	case MAP:
		return min(1, at.precsSum/n)
	}
	panic("score: no formula for " + c.family)
}

// learn takes in the relevant ids of a case.
func (s *Scorer) learn(relevant []Relevant) {
	clear(s.index)
	s.grades, s.found, s.ideal = s.grades[:0], s.found[:0], s.ideal[:0]
	for _, r := range relevant {
		if !(r.Grade > 0) { // also not a number
			continue
		}
		id := r.ID
		if !isNFC(id) {
			id = string(s.nfc(id))
		}
		if _, ok := s.index[id]; ok {
			continue
		}
		s.index[id] = len(s.grades)
		s.grades = append(s.grades, min(r.Grade, math.MaxFloat64))
		s.found = append(s.found, false)
	}
	if len(s.grades) > 0 {
		highest := slices.Max(s.grades)
		for i := range s.grades {
			s.grades[i] /= highest
		}
	}
}

// walk goes down the list and tallies at every cut-off. It gives the position
// of the first relevant result and the hits among the first |R|.
func (s *Scorer) walk(retrieved []Item) (rank, hitsAtR int) {
	var now tally
	s.ranked = s.ranked[:0]
	clear(s.seen)
	position, cut := 0, 0
	for i, item := range retrieved {
		if position == s.topK {
			break
		}
		id := s.unit.Identity(item)
		if s.unit == Document && s.repeated(id) {
			continue
		}
		position++
		j, relevant := s.find(id)
		if relevant = relevant && !s.found[j]; relevant {
			s.found[j] = true
			now.hits++
			if rank == 0 {
				rank = position
			}
			if position <= len(s.grades) {
				hitsAtR = now.hits
			}
			// The conversion keeps the product from being fused with the sum, so
			// that every machine gets the same number.
			now.dcg += float64(s.grades[j] * s.discount[position-1])
			now.precsSum += float64(now.hits) / float64(position)
		}
		s.ranked = append(s.ranked, Ranked{Index: i, Relevant: relevant})
		if cut < len(s.cuts) && s.cuts[cut] == position {
			s.at[cut] = now
			cut++
		}
	}
	for ; cut < len(s.cuts); cut++ {
		s.at[cut] = now
	}
	return rank, hitsAtR
}

// find looks up a relevant id, whatever its normal form.
func (s *Scorer) find(id string) (int, bool) {
	if isNFC(id) {
		j, ok := s.index[id]
		return j, ok
	}
	j, ok := s.index[string(s.nfc(id))]
	return j, ok
}

// repeated says whether the list had this document before.
func (s *Scorer) repeated(id string) bool {
	if !isNFC(id) {
		if _, ok := s.seen[string(s.nfc(id))]; ok {
			return true
		}
		id = string(s.buf)
	}
	if _, ok := s.seen[id]; ok {
		return true
	}
	s.seen[id] = struct{}{}
	return false
}

// isNFC is quick and may say false of an id that is in NFC; nfc then leaves it
// as it is.
func isNFC(id string) bool { return norm.NFC.QuickSpanString(id) == len(id) }

// nfc composes an id into the scratch space, where it stands until the next.
func (s *Scorer) nfc(id string) []byte {
	s.buf = s.buf[:0]
	for s.iter.InitString(norm.NFC, id); !s.iter.Done(); {
		s.buf = append(s.buf, s.iter.Next()...)
	}
	return s.buf
}

// rankIdeally tallies the gain of the best possible list at every cut-off.
func (s *Scorer) rankIdeally() {
	s.ideal = append(s.ideal[:0], s.grades...)
	slices.Sort(s.ideal)
	slices.Reverse(s.ideal)
	dcg, position := 0.0, 0
	for cut, k := range s.cuts {
		for ; position < min(k, len(s.ideal)); position++ {
			dcg += float64(s.ideal[position] * s.discount[position])
		}
		s.at[cut].idealDCG = dcg
	}
}
