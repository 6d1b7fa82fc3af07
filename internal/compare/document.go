package compare

// Document is a comparison for JSON: what the HTTP API and the command line give
// for two runs. Numbers are full precision; what was not measured is left out.
type Document struct {
	Base DocumentRun `json:"base"`
	Head DocumentRun `json:"head"`
	// Comparable says that there are metrics.
	Comparable bool   `json:"comparable"`
	Reason     string `json:"reason"`
	Message    string `json:"message"`
	// Common is how many of the head's Total cases the base has unchanged.
	Common           int  `json:"common"`
	Total            int  `json:"total"`
	Added            int  `json:"added"`
	Edited           int  `json:"edited"`
	Removed          int  `json:"removed"`
	GoldenSetChanged bool `json:"goldenSetChanged"`
	RevisionChanged  bool `json:"revisionChanged"`
	// Differences are the settings that keep metrics from being compared.
	Differences []DocumentDifference `json:"differences"`
	Metrics     []DocumentMetric     `json:"metrics"`
	// Worse and Better are the cases that changed most; the counts are of all.
	Worse       []DocumentCase `json:"worse"`
	Better      []DocumentCase `json:"better"`
	WorseCount  int            `json:"worseCount"`
	BetterCount int            `json:"betterCount"`
	SameCount   int            `json:"sameCount"`
}

// DocumentRun says which run one side is.
type DocumentRun struct {
	Name             string `json:"name"`
	UID              string `json:"uid"`
	Revision         string `json:"revision"`
	GoldenSetDigest  string `json:"goldenSetDigest"`
	EvaluationDigest string `json:"evaluationDigest"`
	TopK             int    `json:"topK"`
	Unit             string `json:"unit"`
	Tokenizer        string `json:"tokenizer"`
	Judge            string `json:"judge,omitempty"`
}

// DocumentDifference is a setting that is not the same in both runs.
type DocumentDifference struct {
	Setting string `json:"setting"`
	Base    string `json:"base"`
	Head    string `json:"head"`
	// Metrics that are not compared for it.
	Metrics []string `json:"metrics"`
}

// DocumentMetric is how one metric moved over the common cases of a tag; the tag
// is empty for all cases.
type DocumentMetric struct {
	Name string `json:"name"`
	Tag  string `json:"tag"`
	// Value is of the head, Baseline of the base, both over the Count common cases.
	Value    float64 `json:"value"`
	Baseline float64 `json:"baseline"`
	Count    int     `json:"count"`
	Delta    float64 `json:"delta"`
	// DeltaLow and DeltaHigh are the 95 % interval of Delta.
	DeltaLow  *float64 `json:"deltaLow,omitempty"`
	DeltaHigh *float64 `json:"deltaHigh,omitempty"`
	// PValue of "no worse"; Corrected says that it is corrected for the suite's
	// other bounds on a drop.
	PValue       *float64 `json:"pValue,omitempty"`
	Corrected    bool     `json:"corrected,omitempty"`
	SmallestDrop *float64 `json:"smallestDrop,omitempty"`
	// LowerIsBetter says that a rise is a worsening.
	LowerIsBetter bool `json:"lowerIsBetter,omitempty"`
}

// DocumentCase is one case that got worse or better.
type DocumentCase struct {
	ID string `json:"id"`
	// Rank of the first relevant result now, BaselineRank then; left out where none
	// was found.
	Rank            int             `json:"rank,omitempty"`
	BaselineRank    int             `json:"baselineRank,omitempty"`
	Outcome         string          `json:"outcome"`
	BaselineOutcome string          `json:"baselineOutcome"`
	Metrics         []DocumentValue `json:"metrics"`
}

// DocumentValue is a metric of one case that is not what it was.
type DocumentValue struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Baseline float64 `json:"baseline"`
}

// Document gives the comparison for JSON. Lists are empty and never null.
func (c *Comparison) Document() *Document {
	d := &Document{
		Base:             c.Base.document(),
		Head:             c.Head.document(),
		Comparable:       c.Comparable,
		Reason:           c.Reason,
		Message:          c.Message,
		Common:           c.Common,
		Total:            c.Total,
		Added:            c.Added,
		Edited:           c.Edited,
		Removed:          c.Removed,
		GoldenSetChanged: c.GoldenSetChanged,
		RevisionChanged:  c.RevisionChanged,
		Differences:      make([]DocumentDifference, 0, len(c.Differences)),
		Metrics:          make([]DocumentMetric, 0, len(c.Deltas)),
		Worse:            documentCases(c.Worse),
		Better:           documentCases(c.Better),
		WorseCount:       c.WorseCount,
		BetterCount:      c.BetterCount,
		SameCount:        c.SameCount,
	}
	for _, difference := range c.Differences {
		d.Differences = append(d.Differences, DocumentDifference(difference))
	}
	for _, m := range c.Deltas {
		d.Metrics = append(d.Metrics, DocumentMetric{
			Name: m.Metric, Tag: m.Tag, Value: m.Head, Baseline: m.Base, Count: m.Count,
			Delta: m.Delta, DeltaLow: m.Low, DeltaHigh: m.High,
			PValue: m.PValue(), Corrected: m.Corrected != nil, SmallestDrop: m.SmallestDrop, LowerIsBetter: m.LowerIsBetter,
		})
	}
	return d
}

func (s Side) document() DocumentRun {
	return DocumentRun{
		Name: s.Run, UID: s.UID, Revision: s.Revision, GoldenSetDigest: s.GoldenSetDigest, EvaluationDigest: s.EvaluationDigest,
		TopK: s.TopK, Unit: s.unit(), Tokenizer: s.tokenizer(), Judge: s.Judge,
	}
}

func documentCases(changes []Change) []DocumentCase {
	all := make([]DocumentCase, 0, len(changes))
	for _, c := range changes {
		one := DocumentCase{
			ID: c.ID, Rank: c.Rank, BaselineRank: c.BaseRank, Outcome: c.Outcome, BaselineOutcome: c.BaseOutcome,
			Metrics: make([]DocumentValue, 0, len(c.Values)),
		}
		for _, v := range c.Values {
			one.Metrics = append(one.Metrics, DocumentValue{Name: v.Metric, Value: v.Head, Baseline: v.Base})
		}
		all = append(all, one)
	}
	return all
}
