package provider

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/judge"
)

func TestMemory(t *testing.T) {
	var m Memory
	a, b := formKey{"http://a", "x"}, formKey{"http://a", "y"}
	m.learn(a, Form{})
	if len(m.forms) != 0 {
		t.Error("what needs no memory takes some")
	}
	m.learn(a, Form{Format: Loose})
	m.learn(a, Form{OtherLimit: true})
	if diff := cmp.Diff(Form{Format: Loose, OtherLimit: true}, m.recall(a)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.learn(a, Form{Format: Structured, OtherLimit: true})
	if m.recall(a).Format != Loose {
		t.Error("what a server refused is tried again")
	}
	if m.recall(b) != (Form{}) {
		t.Error("one model's form is taken for another's")
	}
	m.Forget()
	if m.recall(a) != (Form{}) {
		t.Error("a form is remembered that was to be forgotten")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var m Memory
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range maxForms {
				m.learn(formKey{"http://a", fmt.Sprint(worker, i)}, Form{Format: Plain})
			}
		})
	}
	group.Wait()
	if len(m.forms) > maxForms {
		t.Errorf("%d forms are remembered", len(m.forms))
	}
}

func TestIgnored(t *testing.T) {
	for _, test := range []struct {
		response judge.Response
		want     bool
	}{
		{judge.Response{Text: "The answer is right."}, true},
		{judge.Response{Text: "true"}, true},
		{judge.Response{Text: ""}, false},
		{judge.Response{Text: " \n"}, false},
		{judge.Response{Text: "Here: {}"}, false},
		{judge.Response{Text: "The answer", Truncated: true}, false},
		{judge.Response{Text: "I cannot", Refusal: "no"}, false},
	} {
		if got := ignored(&test.response); got != test.want {
			t.Errorf("%+v: %t", test.response, got)
		}
	}
}
