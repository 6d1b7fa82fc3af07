package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/score"
)

// The elements of JUnit XML as Jenkins, GitLab and GitHub's reporters read them.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		ClassName string       `xml:"classname,attr"`
		Name      string       `xml:"name,attr"`
		Time      string       `xml:"time,attr"`
		Failure   *junitDetail `xml:"failure"`
		Error     *junitDetail `xml:"error"`
		Skipped   *junitDetail `xml:"skipped"`
	}
	junitDetail struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
	}
)

// WriteJUnit writes the run as JUnit XML: a test case for the verdict, one for
// every bound of an objective, and one for every case that could not be scored.
// What is missed is a failure, what could not be decided is skipped. A case that
// could not be scored is an error, but skipped in a run that passed all the
// same, so that the report is as green as the verdict.
func WriteJUnit(w io.Writer, d *Document) error {
	suite := junitSuite{
		Name:       d.Run.Namespace + "/" + d.Run.Suite,
		Time:       seconds(d.Run.CompletionTime.Sub(d.Run.StartTime).Seconds()),
		Timestamp:  d.Run.StartTime.UTC().Format(time.RFC3339),
		Properties: d.properties(),
	}
	class := d.Run.Namespace + "." + d.Run.Suite
	suite.add(d.verdictCase(class))
	for _, o := range d.Objectives {
		suite.add(objectiveCase(class+".objectives", o))
	}
	for _, c := range d.Cases {
		if c.Outcome != eval.Scored {
			suite.add(d.unscoredCase(class+".cases", c))
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func (d *Document) verdictCase(class string) junitCase {
	c := junitCase{ClassName: class, Name: "verdict", Time: seconds(0)}
	detail := &junitDetail{Type: d.Reason, Message: d.Message}
	switch d.Verdict {
	case score.Passed:
	case score.Failed:
		c.Failure = detail
	case score.Inconclusive:
		c.Skipped = &junitDetail{Message: d.Reason + ": " + d.Message}
	default:
		c.Error = detail
	}
	return c
}

func objectiveCase(class string, o Objective) junitCase {
	name := o.Metric
	if o.Tag != "" {
		name += " of tag " + o.Tag
	}
	c := junitCase{ClassName: class, Name: name + " " + o.Bound, Time: seconds(0)}
	switch o.Outcome {
	case score.Met:
	case score.Missed:
		c.Failure = &junitDetail{Type: string(o.Outcome), Message: o.Message}
	default:
		c.Skipped = &junitDetail{Message: o.Message}
	}
	return c
}

func (d *Document) unscoredCase(class string, r Case) junitCase {
	c := junitCase{ClassName: class, Name: r.ID, Time: seconds(0)}
	if r.LatencySeconds != nil {
		c.Time = seconds(*r.LatencySeconds)
	}
	if d.Verdict == score.Passed {
		c.Skipped = &junitDetail{Message: r.Outcome + ": " + r.Message}
	} else {
		c.Error = &junitDetail{Type: r.Outcome, Message: r.Message}
	}
	return c
}

// properties are the facts of the run that have no test case.
func (d *Document) properties() []junitProperty {
	all := []junitProperty{
		{"run", d.Run.Name},
		{"endpoint", d.Run.Endpoint},
		{"revision", d.Run.Revision},
		{"goldenSetDigest", d.Run.GoldenSetDigest},
		{"evaluationDigest", d.Settings.EvaluationDigest},
		{"topK", strconv.Itoa(d.Settings.TopK)},
		{"unit", d.Settings.Unit},
		{"verdict", string(d.Verdict)},
		{"reason", d.Reason},
	}
	if j := d.Settings.Judge; j != nil {
		all = append(all, junitProperty{"judge", judgeName(j)})
	}
	for _, stage := range d.Coverage.stages() {
		all = append(all, junitProperty{"coverage." + stage.name, number(stage.ratio)})
	}
	for _, m := range d.Metrics {
		name := "metric." + m.Name
		if m.Tag != "" {
			name = fmt.Sprintf("%s[%s]", name, m.Tag)
		}
		all = append(all, junitProperty{name, number(m.Value)})
	}
	return all
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func seconds(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
