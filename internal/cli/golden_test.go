package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/goldentool"
)

const cleanSet = `- {id: q1, question: who wrote it, relevant: [authors.md, docs/guide.md], tags: [howto], reference_answer: Ada}
- {id: q2, question: 설치는 어떻게 하나요, relevant: install.md, tags: [howto, korean]}
- {id: q3, question: who wins, answerable: false}
`

func TestGoldenCheck(t *testing.T) {
	t.Chdir(filepath.Dir(file(t, "good.yaml", cleanSet)))
	got := assay(t, "", "golden", "check", "good.yaml")
	got.want(t, 0, "CASES       3: 2 with relevant ids, 1 with a reference answer, 1 not answerable\nTAGS        howto 2, korean 1\nDIGEST      sha256:", "")

	if err := os.WriteFile("bad.yaml", []byte("- id: a\n- {id: b, question: q, colour: red, relevant: [{id: x, grade: -1}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got = assay(t, "", "golden", "check", "bad.yaml")
	got.want(t, 1, `bad.yaml:1: case "a": question: is missing`, "")
	got.want(t, 1, `bad.yaml:2: case "b": relevant[0].grade: must be a number of at least 0`, "")
	got.want(t, 1, "\n\nPROBLEMS    2: no suite can use this set\n", "")
	if strings.Contains(got.stdout, "CASES") {
		t.Errorf("a set that cannot be read is counted:\n%s", got.stdout)
	}

	if err := os.WriteFile("warned.yaml", []byte("- {id: b, question: q, colour: red, relevant: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	assay(t, "", "golden", "check", "warned.yaml").want(t, 0, `warning: warned.yaml:1: case "b": colour: is not a field of a case, and is ignored`+"\n\nCASES       1: 1 with", "")
	// Files are one set.
	assay(t, "", "golden", "check", "good.yaml", "good.yaml").want(t, 1, `case "q1": id: duplicate id, first used at good.yaml:1`, "")

	for _, test := range []struct {
		args   []string
		stderr string
	}{
		{nil, "no golden set: give its files"},
		{[]string{"missing.yaml"}, "reading the file of the golden set: open missing.yaml"},
		{[]string{"-"}, "standard input has no name"},
		{[]string{"good.yaml", "-o", "yaml"}, `unknown output format "yaml"`},
		{[]string{"good.yaml", "--retriever"}, "--retriever needs a suite"},
		{[]string{"good.yaml", "--top-k", "5"}, "give --retriever too"},
		{[]string{"good.yaml", "-f", "x"}, "which golden set"},
		{[]string{"good.yaml", "-f", "x", "--retriever", "--top-k", "1001"}, "--top-k is 1001"},
		{[]string{"-f", "missing.yaml"}, "missing.yaml: no such file"},
	} {
		assay(t, "", append([]string{"golden", "check"}, test.args...)...).want(t, 3, "", test.stderr)
	}
}

func TestGoldenCheckGivesJSON(t *testing.T) {
	t.Chdir(filepath.Dir(file(t, "bad.csv", "id,question,relevant\na,,x\n")))
	got := assay(t, "", "golden", "check", "bad.csv", "-o", "json")
	got.want(t, 1, `"problemCount": 1`, "")
	var d checkDocument
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatal(err)
	}
	want := checkDocument{ProblemCount: 1, Warnings: []problemDocument{}, Problems: []problemDocument{{File: "bad.csv", Line: 2, Case: "a", Field: "question"}}}
	if diff := cmp.Diff(want, d, cmpopts.IgnoreUnexported(problemDocument{}), cmpopts.IgnoreFields(problemDocument{}, "Message")); diff != "" || d.Problems[0].Message == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d = checkDocument{}
	if err := json.Unmarshal([]byte(assay(t, "", "golden", "check", file(t, "g.yaml", cleanSet), "-o", "json").stdout), &d); err != nil {
		t.Fatal(err)
	}
	if d.Set == nil || d.Set.Cases != 3 || d.Set.RelevantIDs != 3 || d.Problems == nil || d.Warnings == nil || d.Retriever != nil {
		t.Errorf("%+v", d)
	}
}

// TestGoldenCheckReadsTheSuites: -f alone checks what the ConfigMap holds.
func TestGoldenCheckReadsTheSuites(t *testing.T) {
	s := newStub(t, nil)
	// An objective on a tag that no case carries is the suite's mistake, not the set's.
	manifests := suiteYAML(s.URL, `objectives: [{metric: mrr, tag: smoke, min: "0.1"}]`)
	assay(t, "", "golden", "check", "-f", file(t, "s.yaml", manifests+goldenYAML)).want(t, 0, "CASES       3: 3 with relevant ids", "")
	assay(t, "", "golden", "check", "-f", file(t, "s.yaml", manifests+strings.Replace(goldenYAML, "question:", "question_:", 1))).want(t, 1, "question: is missing", "")
	assay(t, "", "golden", "check", "-f", file(t, "s.yaml", manifests)).want(t, 3, "", `ConfigMap "golden" is not in the files`)
	if n := s.calls.Load(); n != 0 {
		t.Errorf("%d calls to the retriever, want none", n)
	}
}

func TestGoldenCheckAsksTheRetriever(t *testing.T) {
	set := file(t, "g.yaml", cleanSet)
	fits := newStub(t, lists{"who wrote it": {"authors.md", "docs/guide.md"}, "설치는 어떻게 하나요": {"x.md", "install.md"}})
	suite := suiteYAML(fits.URL, objective)
	assay(t, "", "golden", "check", set, "--retriever", "-f", file(t, "s.yaml", suite), "--top-k", "50").
		want(t, 0, "ASKED       2 of 2 questions, top 50, unit Chunk\nFOUND       3 of 3 relevant ids, in any list\n", "")
	if fits.topK != 50 || fits.calls.Load() != 2 {
		t.Errorf("topK %d in %d calls, want 50 in 2", fits.topK, fits.calls.Load())
	}
	// The set of the suite itself.
	assay(t, "", "golden", "check", "--retriever", "-f", file(t, "s.yaml", suite+goldenYAML)).want(t, 2, "\nNEVER FOUND\n", "")

	differs := newStub(t, lists{"who wrote it": {"s3://kb/authors.md", "guide.md#3", "z.md"}, "설치는 어떻게 하나요": {"install.md"}})
	suite = suiteYAML(differs.URL, objective, "endpoints: [{name: canary, retrieverURL: "+fits.URL+"/search}]")
	got := assay(t, "", "golden", "check", set, "--retriever", "-f", file(t, "s.yaml", suite))
	got.want(t, 2, `FOUND       1 of 3 relevant ids, in any list

NEVER FOUND
authors.md (q1)
    s3://kb/authors.md  has "s3://kb/" in front
`, "")
	got.want(t, 2, `docs/guide.md (q1)
    guide.md#3  lacks "docs/" in front, and has "#3" behind
`, "")
	got.want(t, 2, "\n1 id: the retriever has another prefix: write the ids with it, or cut it off in retriever.results.\n", "")
	assay(t, "", "golden", "check", set, "--retriever", "-f", file(t, "s.yaml", suite), "--endpoint", "canary").want(t, 0, "FOUND       3 of 3", "")

	var d checkDocument
	if err := json.Unmarshal([]byte(assay(t, "", "golden", "check", set, "--retriever", "-f", file(t, "s.yaml", suite), "-o", "json").stdout), &d); err != nil {
		t.Fatal(err)
	}
	want := []goldentool.NeverFound{{ID: "authors.md", Cases: []string{"q1"}}, {ID: "docs/guide.md", Cases: []string{"q1"}}}
	if diff := cmp.Diff(want, d.Retriever.NeverFound, cmpopts.IgnoreFields(goldentool.NeverFound{}, "Nearest")); diff != "" || d.Retriever.Found != 1 || d.Retriever.RelevantIDs != 3 {
		t.Errorf("%+v (-want +got):\n%s", d.Retriever, diff)
	}

	// Nobody but the retriever is asked, and what others name need not be there.
	answering := suiteYAML(fits.URL, "answer: {url: http://answer.invalid/, auth: {bearerTokenSecretRef: {name: none, key: token}}}", "judge: {provider: Lexical, calibration: {configMapRef: {name: none, key: labels.jsonl}}}", objective)
	assay(t, "", "golden", "check", set, "--retriever", "-f", file(t, "s.yaml", answering)).want(t, 0, "FOUND       3 of 3", "")

	// A set with problems is not asked.
	before := differs.calls.Load()
	assay(t, "", "golden", "check", file(t, "b.yaml", "- id: x\n"), "--retriever", "-f", file(t, "s.yaml", suite)).want(t, 1, "question: is missing", "")
	if differs.calls.Load() != before {
		t.Error("a set that cannot be read was asked")
	}
	assay(t, "", "golden", "check", file(t, "u.yaml", "- {id: x, question: q, answerable: false}\n"), "--retriever", "-f", file(t, "s.yaml", suite)).
		want(t, 3, "", "there is nothing to ask")
}

func TestGoldenCheckWhenCallsFail(t *testing.T) {
	set := file(t, "g.yaml", cleanSet)
	half := newStubFunc(t, func(w http.ResponseWriter, _ *http.Request, query string) {
		if query != "who wrote it" {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"results": [{"id": "authors.md"}, {"id": "docs/guide.md"}]}`))
	})
	got := assay(t, "", "golden", "check", set, "--retriever", "-f", file(t, "s.yaml", suiteYAML(half.URL)))
	// Of the ids of a question that got no list, nothing is known.
	got.want(t, 2, "ASKED       1 of 2 questions, top 10, unit Chunk\nFOUND       2 of 2 relevant ids, in any list\nRetrieverHTTPError: 1 question\nfirst: case q2: ", "")

	down := newStubFunc(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		http.Error(w, "down", http.StatusServiceUnavailable)
	})
	assay(t, "", "golden", "check", set, "--retriever", "-f", file(t, "s.yaml", suiteYAML(down.URL))).want(t, 3, "", "the retriever answered none of 2 questions: case q")
}

func TestGoldenImport(t *testing.T) {
	t.Chdir(filepath.Dir(file(t, "faq.csv", "Prompt;Docs\nq one;a.md|b.md\nq two;\n")))
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := assay(t, "", "golden", "import", "--from", "csv", "faq.csv", "--delimiter", ";", "--separator", "|", "--map", "question=Prompt", "--map", "relevant=Docs,id=Prompt")
	got.want(t, 0, "- id: q one\n  question: q one\n  relevant: [a.md, b.md]\n- id: q two\n", "2 cases, 1 with relevant ids, 0 with a reference answer\n")
	got.want(t, 0, "- id", `warning: case "q two": has neither a relevant id nor a reference answer`)

	write("scifact/queries.jsonl", "{\"_id\": \"1\", \"text\": \"one\"}\n{\"_id\": \"2\", \"text\": \"two\"}\n")
	write("scifact/qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\td1\t1\n")
	write("scifact/qrels/train.tsv", "query-id\tcorpus-id\tscore\n2\td2\t1\n")
	assay(t, "", "golden", "import", "--from", "beir", "scifact").want(t, 0, "- id: \"1\"\n  question: one\n  relevant: [d1]\n", "left out: query without qrels: 1 (2)\n1 case, 1 with relevant ids")
	assay(t, "", "golden", "import", "--from", "beir", "scifact", "--split", "train", "--format", "jsonl").want(t, 0, `{"id":"2","question":"two","relevant":["d2"]}`, "1 case")
	assay(t, "", "golden", "import", "--from", "beir", "scifact/queries.jsonl", "--qrels", "scifact/qrels/train.tsv").want(t, 0, `- id: "2"`, "1 case")

	// A file is written once, and again only where it may be.
	args := []string{"golden", "import", "--from", "beir", "scifact", "-O", "out.yaml"}
	assay(t, "", args...).want(t, 0, "", "1 case")
	assay(t, "", "golden", "check", "out.yaml").want(t, 0, "CASES       1:", "")
	write("out.yaml", "mine")
	assay(t, "", args...).want(t, 3, "", "out.yaml is there already: give another --output-file, or --force")
	if data, err := os.ReadFile("out.yaml"); err != nil || string(data) != "mine" {
		t.Errorf("the file was overwritten: %q, %v", data, err)
	}
	assay(t, "", append(args, "--force")...).want(t, 0, "", "1 case")
	assay(t, "", "golden", "check", "out.yaml").want(t, 0, "CASES       1:", "")

	// Of a ConfigMap, the suite reads what was imported.
	got = assay(t, "", "golden", "import", "--from", "golden", "out.yaml", "--configmap", "golden", "-n", "rag")
	got.want(t, 0, "kind: ConfigMap\nmetadata:\n  name: golden\n  namespace: rag\ndata:\n  golden.yaml: |\n    - id: \"1\"\n", "1 case")
	assay(t, "", "golden", "check", "-f", file(t, "s.yaml", suiteYAML("http://localhost")+"---\n"+got.stdout)).want(t, 0, "CASES       1:", "")

	for _, test := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"x"}, "--from is missing"},
		{[]string{"--from", "mteb", "x"}, `--from is "mteb": use one of [beir trec ragas`},
		{[]string{"--from", "csv"}, "requires at least 1 arg"},
		{[]string{"--from", "csv", "a", "b"}, "one file is imported at a time"},
		{[]string{"--from", "csv", "-"}, "standard input has no name"},
		{[]string{"--from", "csv", "x", "--qrels", "q"}, "--qrels means nothing for csv"},
		{[]string{"--from", "trec", "x"}, "--qrels is missing"},
		{[]string{"--from", "beir", "faq.csv"}, "--qrels is missing"},
		{[]string{"--from", "beir", "missing"}, "--qrels is missing"},
		{[]string{"--from", "beir", "scifact", "--split", "dev"}, "reading the file of --qrels: open scifact/qrels/dev.tsv"},
		{[]string{"--from", "beir", "scifact", "--split", "../x"}, `--split is "../x"`},
		{[]string{"--from", "beir", "scifact", "--map", "question=x"}, "--map means nothing for beir"},
		{[]string{"--from", "trec", "x", "--qrels", "q", "--topic-field", "num"}, `--topic-field is "num"`},
		{[]string{"--from", "csv", "faq.csv", "--format", "csv"}, `--format is "csv"`},
		{[]string{"--from", "csv", "faq.csv", "--separator", ""}, "--separator is empty"},
		{[]string{"--from", "csv", "faq.csv", "--delimiter", ";;"}, `--delimiter is ";;": give one character`},
		{[]string{"--from", "csv", "faq.csv", "--map", "colour=x"}, `a case has no field "colour"`},
		{[]string{"--from", "csv", "faq.csv", "-n", "rag"}, "give --configmap too"},
		{[]string{"--from", "csv", "faq.csv", "--configmap", "No Name"}, `--configmap is "No Name"`},
		{[]string{"--from", "csv", "faq.csv", "--configmap", "x", "-n", "No"}, `--namespace is "No"`},
		{[]string{"--from", "csv", "faq.csv", "--force"}, "--force has nothing to overwrite"},
		{[]string{"--from", "csv", "faq.csv", "--delimiter", ";"}, "case #1: has no question; say which name it has with question=NAME. There is Prompt, Docs"},
		{[]string{"--from", "csv", "faq.csv", "--delimiter", ";", "--map", "question=Docs", "--map", "id=Docs", "-O", "no/such/folder"}, "writing the golden set: "},
	} {
		assay(t, "", append([]string{"golden", "import"}, test.args...)...).want(t, 3, "", test.stderr)
	}
	var rows strings.Builder
	for i := range 10 {
		rows.WriteString(strings.Repeat(string(rune('a'+i)), 30_000) + ",a.md\n")
	}
	write("large.csv", "question,relevant\n"+rows.String())
	assay(t, "", "golden", "import", "--from", "csv", "large.csv", "--configmap", "x").want(t, 0, "kind: ConfigMap", "warning: the manifest is over 256 KiB: apply it with kubectl apply --server-side\n10 cases")
	write("twice.csv", "id,question\n1,a\n1,b\n")
	assay(t, "", "golden", "import", "--from", "csv", "twice.csv", "-O", "twice.yaml").want(t, 3, "", `nothing was written: case "1": id: duplicate id`)
	if fileExists("twice.yaml") {
		t.Error("a set with a problem was written")
	}
}

func TestGoldenAdd(t *testing.T) {
	path := file(t, "g.yaml", "# ours\n- {id: a, question: q}\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(filepath.Dir(path), "link.yaml")
	if err := os.Symlink(filepath.Base(path), link); err != nil {
		t.Fatal(err)
	}
	const after = "# ours\n- {id: a, question: q}\n- id: b\n  name: Refund\n  question: How do I get my money back?\n  relevant:\n" +
		"    - {id: refunds.md, grade: 2}\n    - {id: \"https://x/?a=b\", grade: 1}\n  reference_answer: Ask\n  tags: [howto, smoke]\n"
	assay(t, "", "golden", "add", link, "--id", "b", "--name", "Refund", "--question", "How do I get my money back?",
		"--relevant", "refunds.md=2", "--relevant", "https://x/?a=b", "--reference", "Ask", "--tag", "smoke", "--tag", "howto").
		want(t, 0, "", "1 case added to "+link+", which has 2 cases\n")
	check := func(name, want string) {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// Tags stand as they were given: the file is a person's.
	check(path, strings.Replace(after, "[howto, smoke]", "[smoke, howto]", 1))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v, %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 2 {
		t.Errorf("%d files in the folder, want 2: %v", len(entries), err)
	}

	// Nothing of a refused case is written.
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	assay(t, "", "golden", "add", path, "--id", "b", "--question", "x").want(t, 3, "", `error: nothing was added: case "b": id: duplicate id, first used at `+path+":3")
	check(path, string(before))

	fresh := filepath.Join(t.TempDir(), "new.jsonl")
	assay(t, `{"question": "Who am I?", "answerable": false}`, "golden", "add", fresh, "-f", "-").want(t, 0, "", "which has 1 case\n")
	check(fresh, `{"id":"`+idOf(t, fresh)+`","question":"Who am I?","answerable":false}`+"\n")
	assay(t, "", "golden", "add", fresh, "-f", file(t, "c.yaml", "- {id: x, question: one}\n- {id: y, question: two}\n"), "--tag", "t").want(t, 0, "", "2 cases added to "+fresh+", which has 3 cases\n")
	assay(t, "", "golden", "add", fresh, "--question", "none", "--unanswerable").want(t, 0, "", "which has 4 cases")

	// What a case says is corrected by the flags.
	corrected := filepath.Join(t.TempDir(), "c.yaml")
	assay(t, "id: x\nquestion: q\nrelevant: a.md\n", "golden", "add", corrected, "-f", "-", "--unanswerable", "--question", "p", "--reference", "none").want(t, 0, "", "which has 1 case")
	check(corrected, "- id: x\n  question: p\n  reference_answer: none\n  answerable: false\n")

	for _, test := range []struct {
		stdin  string
		args   []string
		stderr string
	}{
		{"", nil, "accepts 1 arg"},
		{"", []string{"-"}, "not to standard output"},
		{"", []string{fresh}, "no case: give --question"},
		{"", []string{fresh, "-f", "x", "--from-run", "y"}, "use one"},
		{"", []string{fresh, "--case", "x", "--question", "q"}, "give --from-run too"},
		{"", []string{fresh, "--question", " "}, "question: is empty"},
		{"", []string{fresh, "--question", "q", "--relevant", ""}, `--relevant is "": give an id`},
		{"", []string{fresh, "--question", "q", "--relevant", "a=0"}, "the grade must be above 0"},
		{"", []string{fresh, "--question", "q", "--relevant", "a=NaN"}, "the grade must be above 0"},
		{"", []string{fresh, "--question", "q", "--relevant", "a=1e99"}, "the grade must be above 0"},
		{"", []string{fresh, "--question", strings.Repeat("x", 33<<10)}, "the limit is 32768"},
		{"[1]", []string{fresh, "-f", "-"}, "standard input:1: case #1: must be a map of fields"},
		{"{", []string{fresh, "-f", "-"}, "standard input:1: is not YAML"},
		{"- question: a\n- question: b\n", []string{fresh, "-f", "-", "--id", "z"}, "--id is about one case, and there are 2"},
		{"", []string{fresh, "-f", "missing.yaml"}, "reading the case: open missing.yaml"},
		{"", []string{filepath.Dir(fresh), "--question", "q"}, "reading the golden set"},
		{"", []string{filepath.Join(fresh, "below.yaml"), "--question", "q"}, "reading the golden set"},
		{"", []string{"g.txt", "--question", "q"}, "g.txt has an ending that says no format"},
	} {
		assay(t, test.stdin, append([]string{"golden", "add"}, test.args...)...).want(t, 3, "", test.stderr)
	}
}

// idOf gives the id of the only case of a file.
func idOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := golden.Read(golden.File{Name: path, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return set.Cases[0].ID
}

func TestGoldenAddFromRun(t *testing.T) {
	s := newStub(t, lists{"who wrote it": {"authors.md"}})
	set := strings.Replace(goldenYAML, "question: who wrote it,", "question: who wrote it, metadata: {tenant: a},", 1)
	result := assay(t, "", "run", "-f", file(t, "s.yaml", suiteYAML(s.URL, objective)+set), "-o", "json")
	document := file(t, "result.json", result.stdout)
	path := file(t, "smoke.yaml", "- {id: a, question: q}\n")

	assay(t, "", "golden", "add", path, "--from-run", document).want(t, 3, "", "which case? Give --case ID; these did not come out well: ")
	assay(t, "", "golden", "add", path, "--from-run", document, "--case", "nope").want(t, 3, "", `has no case "nope"`)
	assay(t, "", "golden", "add", path, "--from-run", file(t, "r.json", "{}"), "--case", "q2").want(t, 3, "", "this is no run document")

	assay(t, result.stdout, "golden", "add", path, "--from-run", "-", "--case", "q2", "--relevant", "install.md", "--tag", "smoke").want(t, 0, "", "1 case added")
	// A run document has no metadata, and the case's digest shows that there was some.
	assay(t, "", "golden", "add", filepath.Join(t.TempDir(), "g.yaml"), "--from-run", document, "--case", "q3").want(t, 0, "", `warning: case "q3" is not whole`)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = "- {id: a, question: q}\n- id: q2\n  question: 설치는 어떻게 하나요\n  relevant: [install.md]\n  tags: [korean, smoke]\n"
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReplaceFileKeepsOthersChanges: what somebody wrote since is not lost.
func TestReplaceFileKeepsOthersChanges(t *testing.T) {
	path := file(t, "g.yaml", "theirs")
	if err := replaceFile(path, []byte("as it was"), []byte("ours")); err == nil || !strings.Contains(err.Error(), "was changed meanwhile") {
		t.Errorf("error %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "theirs" {
		t.Errorf("the file has %q, %v", data, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, want 1: %v", len(entries), err)
	}
	if err := createFile(path, []byte("ours")); err == nil {
		t.Error("a file that is there was created")
	}
}
