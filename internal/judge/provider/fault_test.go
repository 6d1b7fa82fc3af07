package provider

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestReadFault(t *testing.T) {
	for body, want := range map[string]*Fault{
		`{"error":{"message":"M","type":"T","param":"P","code":"C"}}`: {Type: "t", Code: "c", Param: "p", Message: "M", Text: "t\nc\np\nm", instead: true},
		`{"error":"Model IS loading"}`:                                {Message: "Model IS loading", Text: "\n\n\nmodel is loading", instead: true},
		`{"type":"error","error":{"type":"rate_limit_error","message":"M","details":{"error_code":"ramp_limit_exceeded"}}}`: {
			Type: "rate_limit_error", Code: "ramp_limit_exceeded", Message: "M", Text: "rate_limit_error\nramp_limit_exceeded\n\nm", instead: true},
		`{"error":{"code":429,"message":"M","status":"RESOURCE_EXHAUSTED"}}`:   {Type: "resource_exhausted", Code: "429", Message: "M", Text: "resource_exhausted\n429\n\nm", instead: true},
		`{"object":"error","message":"M","type":"BadRequestError","code":400}`: {Type: "badrequesterror", Code: "400", Message: "M", Text: "badrequesterror\n400\n\nm", instead: true},
		`{"detail":[{"loc":["body","n"]}]}`:                                    {Message: `[{"loc":["body","n"]}]`, Text: "\n\n\n" + `[{"loc":["body","n"]}]`, instead: true},
		`{"message":"no Route matched"}`:                                       {Message: "no Route matched", Text: "\n\n\nno route matched", instead: true},
		`{"error":{"message":"M"},"choices":[{}]}`:                             {Message: "M", Text: "\n\n\nm"},
		`{"error":7}`:                 {Message: "7", Text: "\n\n\n7", instead: true},
		`{"error":[{"a":1}]}`:         {Message: `[{"a":1}]`, Text: "\n\n\n" + `[{"a":1}]`, instead: true},
		`{"error":null,"choices":[]}`: nil,
		`{"error":{}}`:                nil,
		`{"choices":[]}`:              nil,
		`[]`:                          nil,
		`nonsense`:                    nil,
		``:                            nil,
	} {
		if diff := cmp.Diff(want, readFault([]byte(body)), cmp.AllowUnexported(Fault{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", body, diff)
		}
	}
}

func FuzzReadFault(f *testing.F) {
	for _, seed := range []string{`{"error":{"message":"m","details":{"error_code":"c"}}}`, `{"error":"e"}`, `{"detail":[]}`, `{"message":{}}`, `null`, `{"error":{"type":[]}}`} {
		f.Add([]byte(seed), 400)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		fault := readFault(body)
		if fault == nil {
			return
		}
		if fault.Text != strings.ToLower(fault.Text) {
			t.Errorf("the text is %q", fault.Text)
		}
		Common(status, fault)
	})
}

// What a question asks for is no quota: only a limit's own words count.
func TestCommonTakesNoWordsForAQuota(t *testing.T) {
	for _, test := range []struct {
		status int
		text   string
		want   Meaning
	}{
		{400, "the daily fee per day is unknown", Other},
		{429, "limited to 5 requests per minute", Limited},
		{429, "limited to 5 requests per day", Quota},
		{429, "free-models-per-day", Quota},
		{429, "the maximum context length is 8192 tokens", Limited},
		{500, "maximum context length handler crashed", Other},
		{200, "prompt is too long: 210000 tokens > 200000 maximum", TooLong},
		{400, "the input token count (1200) exceeds the maximum", Other},
		{400, "context window exceeded", TooLong},
		{400, "the file is too long", Other},
	} {
		if got := Common(test.status, &Fault{Text: test.text}); got != test.want {
			t.Errorf("%d %q means %d, want %d", test.status, test.text, got, test.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a sk-secret b", 256)
	f.Add(strings.Repeat("한", 200), 256)
	f.Add("\xff\xfe\x80\x80\x80\x80\x80\x80\x80", 3)
	m, err := New(Config{Model: "m", APIKey: "sk-secret"}, Endpoint{Base: "http://judge", Forms: &Memory{}}, echo{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		got := m.(*model).clean(text, max(limit%512, utf8.UTFMax+1))
		if !utf8.ValidString(got) || strings.Contains(got, "sk-secret") || strings.ContainsAny(got, "\n\r\x1b") {
			t.Errorf("%q is shown as %q", text, got)
		}
	})
}
