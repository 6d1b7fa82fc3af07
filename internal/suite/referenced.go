package suite

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/judge"
)

// Referenced is the content, beside the golden set, that a suite refers to and
// that can change a number or a verdict.
type Referenced struct {
	// Prompt is the judge's instructions; empty: Assay's own.
	Prompt string
	// Labels are the verdicts that the judge is held against.
	Labels []judge.Label
	// Digests identify all of it.
	Digests Digests
}

// Digests identify what a suite refers to.
type Digests struct {
	// Prompt is the SHA-256 of the instructions that the judge gets, whether its
	// own or Assay's; empty without a model.
	Prompt string
	// Labels is the digest of the labelled verdicts; empty without any.
	Labels string
}

// LoadReferenced reads what the suite refers to beside its golden set.
func LoadReferenced(ctx context.Context, s *v1alpha1.EvalSuite, src Source) (Referenced, error) {
	var r Referenced
	j := s.Spec.Judge
	if j == nil {
		return r, nil
	}
	if ref := j.PromptRef; ref != nil {
		text, err := promptText(ctx, s, src, ref)
		if err != nil {
			return r, err
		}
		r.Prompt = text
	}
	if j.Provider != v1alpha1.JudgeLexical {
		r.Digests.Prompt = judge.PromptDigest(r.Prompt)
	}
	if c := j.Calibration; c != nil {
		labels, err := readLabels(ctx, s, src, c)
		if err != nil {
			return r, err
		}
		r.Labels, r.Digests.Labels = labels, judge.LabelsDigest(labels)
	}
	return r, nil
}

// promptText reads the judge's instructions.
func promptText(ctx context.Context, s *v1alpha1.EvalSuite, src Source, ref *v1alpha1.PromptReference) (string, error) {
	const field = "spec.judge.promptRef"
	cm, err := referencedConfigMap(ctx, s, src, ref.Name, field)
	if err != nil {
		return "", err
	}
	text, ok := cm.Data[ref.Key]
	switch {
	case !ok:
		return "", errorf(ReasonConfigMapNotFound, "the ConfigMap %q of %s has no key %q: add it, or name another one in key", ref.Name, field, ref.Key)
	case strings.TrimSpace(text) == "":
		return "", errorf(ReasonPromptInvalid, "the key %q of the ConfigMap %q of %s is empty: write the judge's instructions there, or remove promptRef", ref.Key, ref.Name, field)
	}
	return text, nil
}

// readLabels reads the labelled verdicts of a calibration.
func readLabels(ctx context.Context, s *v1alpha1.EvalSuite, src Source, c *v1alpha1.Calibration) ([]judge.Label, error) {
	cm, err := referencedConfigMap(ctx, s, src, c.ConfigMapRef.Name, labelSource.field)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(cm, c.ConfigMapRef.Key, labelSource)
	if err != nil {
		return nil, err
	}
	set, err := judge.ReadLabels(files...)
	if err != nil {
		return nil, errorf(ReasonLabelsInvalid, "the labelled verdicts of %s cannot be read: %w", labelSource.field, err)
	}
	return set.Labels, nil
}

func referencedConfigMap(ctx context.Context, s *v1alpha1.EvalSuite, src Source, name, field string) (*corev1.ConfigMap, error) {
	cm, err := src.ConfigMap(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, errorf(ReasonConfigMapNotFound, "the ConfigMap %q of %s does not exist in namespace %q: create it", name, field, s.Namespace)
	case err != nil:
		return nil, outage(ReasonConfigMapUnreadable, fmt.Errorf("read ConfigMap %q of %s: %w", name, field, err))
	}
	return cm, nil
}

// DigestOf is the suite's evaluation digest at an endpoint; empty where what it
// refers to cannot be read.
func DigestOf(ctx context.Context, s *v1alpha1.EvalSuite, endpoint string, src Source) string {
	refs, err := LoadReferenced(ctx, s, src)
	if err != nil {
		return ""
	}
	return EvaluationDigest(s, endpoint, refs.Digests)
}
