package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParseAsk(f *testing.F) {
	f.Add([]byte(`{"endpoint": "canary", "revision": "abc", "tags": ["ko"], "topK": 3, "stages": ["Answer", "Retrieval"]}`))
	for _, bad := range badBodies {
		f.Add([]byte(bad.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ask, err := parseAsk(body)
		if err != nil {
			p, ok := errors.AsType[*problem](err)
			if !ok || p.Status != http.StatusBadRequest || p.Detail == "" {
				t.Errorf("the error is %#v", err)
			}
			return
		}
		// What is taken is a JSON object that encoding/json reads the same way.
		var fields struct {
			Endpoint, Revision string
			Tags               []string
			TopK               *int32
			Stages             []string
		}
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatalf("%q was taken: %v", body, err)
		}
		if fields.TopK != nil && ask.TopK != *fields.TopK || ask.Endpoint != fields.Endpoint || ask.Revision != fields.Revision || len(ask.Tags) != len(fields.Tags) || len(ask.Stages) != len(fields.Stages) {
			t.Errorf("%q is read as %+v", body, ask)
		}
		if !slices.Equal(ask.Stages, stages[:len(ask.Stages)]) {
			t.Errorf("%q was taken with the stages %q", body, ask.Stages)
		}
		if ask.Revision != "" && ask.Endpoint == "" || ask.TopK < 0 || ask.TopK > maxTopK || !utf8.ValidString(ask.Endpoint+ask.Revision+strings.Join(ask.Tags, "")) {
			t.Errorf("%q was taken: %+v", body, ask)
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, q := range []string{"", "limit=5", "limit=-1", "limit=1e9", "limit=1&limit=2", "wait=30s", "wait=-1s", "wait=1h1m", "limit=5;wait=1s", "%zz", "after=%00", "limit=%2B5", "wait=9223372036854775807ns"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = &url.URL{Path: "/", RawQuery: raw}
		values, err := query(r, "limit", "wait", "after")
		if err != nil {
			return
		}
		if n, err := limit(values, "limit", 7, 200); err == nil && (n < 1 || n > 200) {
			t.Errorf("the limit of %q is %d", raw, n)
		}
		if d, err := wait(values); err == nil && (d < 0 || d > maxWait) {
			t.Errorf("the wait of %q is %s", raw, d)
		}
		if link := nextPage(values, "after", "c1"); strings.ContainsAny(link, "\r\n") || strings.Count(link, ">") != 1 {
			t.Errorf("the link of %q is %q", raw, link)
		}
	})
}

func FuzzIsUUID(f *testing.F) {
	f.Add(doneID)
	f.Add("{" + doneID + "}")
	f.Fuzz(func(t *testing.T, text string) {
		if isUUID(text) && (len(text) != 36 || strings.Count(text, "-") != 4 || strings.Trim(text, "0123456789abcdefABCDEF-") != "") {
			t.Errorf("%q passes for a UUID", text)
		}
	})
}

// requestOf makes a request of what a fuzzer gives, where that is one at all.
func requestOf(method, target string, body []byte) (*http.Request, bool) {
	u, err := url.ParseRequestURI(target)
	if err != nil || u.Host != "" {
		return nil, false
	}
	r := httptest.NewRequest(method, "/", bytes.NewReader(body))
	r.URL = u
	r.Header.Set("Authorization", "Bearer all")
	return r, true
}

func FuzzCompare(f *testing.F) {
	f.Add("base=" + oldID + "&head=" + doneID + "&cases=3")
	f.Add("base=%00&head=x&cases=-1")
	f.Fuzz(func(t *testing.T, raw string) {
		w := newWorld(t)
		r := httptest.NewRequest("GET", compareBase, nil)
		r.URL.RawQuery = raw
		r.Header.Set("Authorization", "Bearer all")
		got := httptest.NewRecorder()
		w.handler.ServeHTTP(got, r)
		if !slices.Contains([]int{200, 400, 404, 409}, got.Code) {
			t.Errorf("%q is %d: %s", raw, got.Code, got.Body)
		}
	})
}
