package suite

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/assay-dev/assay/internal/judge"
)

const labels2 = `{"question": "q", "answer": "a", "contexts": ["c"], "grounded": true}
{"question": "질문", "answer": "답", "contexts": [], "grounded": false}
`

func TestLoadReferenced(t *testing.T) {
	b := newBot(t)
	files := []*corev1.ConfigMap{
		configMap("prompt", map[string]string{"system.txt": "Be strict.", "korean.txt": "엄격하게.\n"}),
		configMap("labels", map[string]string{"b.jsonl": labels2, "a.csv": "question,answer,grounded\nx,y,true\n"}),
		{ObjectMeta: configMap("packed", nil).ObjectMeta, BinaryData: map[string][]byte{"a.jsonl.gz": gzipped(t, labels2)}},
	}
	const own = `judge: {provider: OpenAI, model: m, `
	for name, test := range map[string]struct {
		spec   string
		prompt string
		labels int
		model  bool
	}{
		"no judge":          {`{}`, "", 0, false},
		"no model":          {byLexical, "", 0, false},
		"a model":           {byOpenAI, "", 0, true},
		"a prompt":          {`{` + own + `promptRef: {name: prompt}}}`, "Be strict.", 0, true},
		"by its key":        {`{` + own + `promptRef: {name: prompt, key: korean.txt}}}`, "엄격하게.\n", 0, true},
		"labels":            {`{` + own + `calibration: {configMapRef: {name: labels}}}}`, "", 3, true},
		"labels by a key":   {`{` + own + `calibration: {configMapRef: {name: labels, key: b.jsonl}}}}`, "", 2, true},
		"labels, packed":    {`{` + own + `calibration: {configMapRef: {name: packed}}}}`, "", 2, true},
		"labels of Lexical": {`{judge: {provider: Lexical, calibration: {configMapRef: {name: labels}}}}`, "", 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			refs, err := LoadReferenced(t.Context(), b.answering(t, test.spec), &objects{configMaps: files})
			if err != nil {
				t.Fatal(err)
			}
			var want Digests
			if test.model {
				want.Prompt = judge.PromptDigest(test.prompt)
			}
			if test.labels > 0 {
				want.Labels = judge.LabelsDigest(refs.Labels)
			}
			if diff := cmp.Diff(want, refs.Digests); diff != "" || refs.Prompt != test.prompt || len(refs.Labels) != test.labels {
				t.Errorf("prompt %q, %d labels: %s", refs.Prompt, len(refs.Labels), diff)
			}
		})
	}
}

// What a judge refers to and what is not there, or nothing that it can use.
func TestReferencesThatCannotBeUsed(t *testing.T) {
	b := newBot(t)
	prompt := `{judge: {promptRef: {name: prompt}}}`
	labels := func(text string) []*corev1.ConfigMap {
		return []*corev1.ConfigMap{configMap("labels", map[string]string{"labels.jsonl": text})}
	}
	for name, test := range map[string]struct {
		patch  string
		have   []*corev1.ConfigMap
		broken string
		want   want
	}{
		"no prompt":        {prompt, nil, "", want{ReasonConfigMapNotFound, false, []string{`the ConfigMap "prompt" of spec.judge.promptRef does not exist in namespace "rag": create it`}}},
		"no key of it":     {prompt, []*corev1.ConfigMap{configMap("prompt", map[string]string{"judge.txt": "x"})}, "", want{ReasonConfigMapNotFound, false, []string{`the ConfigMap "prompt" of spec.judge.promptRef has no key "system.txt": add it`}}},
		"an empty prompt":  {prompt, []*corev1.ConfigMap{configMap("prompt", map[string]string{"system.txt": " \n\t"})}, "", want{ReasonPromptInvalid, false, []string{`the key "system.txt" of the ConfigMap "prompt"`, "is empty", "remove promptRef"}}},
		"prompt outage":    {prompt, nil, "prompt", want{ReasonConfigMapUnreadable, true, []string{`read ConfigMap "prompt" of spec.judge.promptRef`, "etcd is away"}}},
		"no labels":        {calibrated, nil, "", want{ReasonConfigMapNotFound, false, []string{`the ConfigMap "labels" of spec.judge.calibration.configMapRef does not exist`}}},
		"no key of them":   {`{judge: {calibration: {configMapRef: {name: labels, key: x.csv}}}}`, labels(labels2), "", want{ReasonConfigMapNotFound, false, []string{`"labels" of spec.judge.calibration.configMapRef has no key "x.csv": it has labels.jsonl`}}},
		"an empty map":     {calibrated, []*corev1.ConfigMap{configMap("labels", nil)}, "", want{ReasonLabelsInvalid, false, []string{`the ConfigMap "labels" of spec.judge.calibration.configMapRef is empty: give it a key such as labels.jsonl`}}},
		"an empty file":    {calibrated, labels(""), "", want{ReasonLabelsInvalid, false, []string{"spec.judge.calibration.configMapRef cannot be read: labels.jsonl: has no labels"}}},
		"garbage":          {calibrated, labels("garbage"), "", want{ReasonLabelsInvalid, false, []string{"labels.jsonl:1"}}},
		"half a label":     {calibrated, labels(labels2 + `{"question": "q"}`), "", want{ReasonLabelsInvalid, false, []string{"labels.jsonl:3", "answer"}}},
		"no format":        {calibrated, []*corev1.ConfigMap{configMap("labels", map[string]string{"README": "x"})}, "", want{ReasonLabelsInvalid, false, []string{"README"}}},
		"labels outage":    {calibrated, nil, "labels", want{ReasonConfigMapUnreadable, true, []string{`read ConfigMap "labels"`, "etcd is away"}}},
		"no API key":       {`{judge: {apiKeySecretRef: {name: other}}}`, nil, "", want{ReasonSecretNotFound, false, []string{`the Secret "other" of spec.judge.apiKeySecretRef does not exist`}}},
		"no key of it all": {`{judge: {apiKeySecretRef: {key: other}}}`, nil, "", want{ReasonSecretNotFound, false, []string{`the Secret "keys" of spec.judge.apiKeySecretRef has no key "other": add it`}}},
	} {
		t.Run(name, func(t *testing.T) {
			have := namespace4(test.have...)
			have.broken = test.broken
			_, err := Prepare(t.Context(), b.answering(t, byOpenAI, test.patch), RunOptions{}, have, Deps{})
			test.want.check(t, err)
		})
	}
}

func TestEveryCredentialThatIsMissingIsSaidAtOnce(t *testing.T) {
	b := newBot(t)
	s := b.answering(t, byOpenAI, `{
	  answer: {auth: {bearerTokenSecretRef: {name: bot, key: token}}, headers: [{name: X-A, valueFrom: {secretKeyRef: {name: head, key: a}}}], tls: {caBundleRef: {name: ca}}},
	  judge: {apiKeySecretRef: {name: openai, key: k}, headers: [{name: X-B, valueFrom: {secretKeyRef: {name: head, key: b}}}], tls: {clientCertSecretRef: {name: client}}}}`)
	src := &objects{configMaps: []*corev1.ConfigMap{golden4}}
	missing := want{ReasonSecretNotFound, false, []string{
		`the Secret "bot" of spec.answer.auth.bearerTokenSecretRef does not exist`,
		`the Secret "head" of spec.answer.headers[0].valueFrom.secretKeyRef does not exist`,
		`the ConfigMap "ca" of spec.answer.tls.caBundleRef does not exist`,
		`the Secret "head" of spec.judge.headers[0].valueFrom.secretKeyRef does not exist`,
		`the Secret "client" of spec.judge.tls.clientCertSecretRef does not exist`,
		`the Secret "openai" of spec.judge.apiKeySecretRef does not exist`,
	}}
	missing.check(t, CheckCredentials(t.Context(), s, src))
	if want := []string{"bot", "head", "ca", "client", "openai"}; !slices.Equal(src.reads, want) {
		t.Errorf("it reads %v, want %v", src.reads, want)
	}
	_, err := Prepare(t.Context(), s, RunOptions{}, src, Deps{})
	missing.check(t, err)
}
