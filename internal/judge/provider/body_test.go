package provider

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEncode(t *testing.T) {
	for name, test := range map[string]struct {
		params string
		extra  map[string]any
		want   string
	}{
		"nothing to add":  {`{"b":1,"a":[1.50,12345678901234567890]}`, nil, `{"b":1,"a":[1.50,12345678901234567890]}`},
		"a field":         {`{"b":1.50}`, map[string]any{"a": true}, `{"a":true,"b":1.50}`},
		"over a field":    {`{"a":{"b":1}}`, map[string]any{"a": 2}, `{"a":2}`},
		"null":            {`{"a":1}`, map[string]any{"a": nil}, `{"a":null}`},
		"into an object":  {`{"a":{"z":{"y":1,"x":2},"b":1}}`, map[string]any{"a": map[string]any{"b": map[string]any{"c": 3}}}, `{"a":{"b":{"c":3},"z":{"y":1,"x":2}}}`},
		"deep":            {`{"a":{"b":{"c":1}}}`, map[string]any{"a": map[string]any{"b": map[string]any{"d": "<é>"}}}, `{"a":{"b":{"c":1,"d":"<é>"}}}`},
		"object for none": {`{"a":7}`, map[string]any{"a": map[string]any{"b": 1}}, `{"a":{"b":1}}`},
		"escapes":         {`{"a":"\u003c\u003E\u0026\u2028\ud55c\\u003c\\\u003c\"\ud83d\ude00"}`, nil, `{"a":"<>&` + "\u2028" + `한\\u003c\\<\"😀"}`},
		"kept escapes":    {`{"a":"\u0000\u001f\u0022\u005c\n\ud83d\ud83dx\ude00"}`, nil, `{"a":"\u0000\u001f\u0022\u005c\n\ud83d\ud83dx\ude00"}`},
		"escaped names":   {`{"\u003c":1}`, map[string]any{"\u2028": 1}, "{\"<\":1,\"\u2028\":1}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Encode(json.RawMessage(test.params), test.extra)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEncodeFails(t *testing.T) {
	for name, test := range map[string]struct {
		params string
		extra  map[string]any
	}{
		"no object":  {`[]`, map[string]any{"a": 1}},
		"no number":  {`{}`, map[string]any{"a": math.NaN()}},
		"a function": {`{"a":{}}`, map[string]any{"a": map[string]any{"b": func() {}}}},
	} {
		if got, err := Encode(json.RawMessage(test.params), test.extra); err == nil || !strings.Contains(err.Error(), "extraBody") {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}

// Written as literal text, a document means what it meant.
func FuzzLiteral(f *testing.F) {
	for _, seed := range []string{
		`"\u003c"`, `"\\u003c"`, `"\\\u003c"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\u0022\u005c\u0000"`, `{"\u2028":["\uffff"]}`, `"\`, `\u`, `"\u12`, `"\uZZZZ"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := literal(text)
		if !json.Valid(text) {
			return
		}
		var was, is any
		if err := json.Unmarshal(text, &was); err != nil {
			return // beyond what numbers can be
		}
		if err := json.Unmarshal(got, &is); err != nil {
			t.Fatalf("%s became %s: %v", text, got, err)
		}
		if !reflect.DeepEqual(was, is) {
			t.Fatalf("%s became %s", text, got)
		}
		if again := literal(got); string(again) != string(got) {
			t.Fatalf("%s became %s, then %s", text, got, again)
		}
	})
}
