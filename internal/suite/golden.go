package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/golden"
)

// A golden set over http must fit these bounds.
const (
	maxGoldenBytes = 64 << 20
	goldenTimeout  = 2 * time.Minute
	maxRedirects   = 5
)

// LoadGolden reads the suite's golden set and keeps the cases that
// goldenSet.tags names. Objectives on a tag that no case carries are an error.
func LoadGolden(ctx context.Context, s *v1alpha1.EvalSuite, src Source, d Deps) (*golden.Set, error) {
	files, err := goldenFiles(ctx, s, src, d)
	if err != nil {
		return nil, err
	}
	return readGolden(s, files)
}

func readGolden(s *v1alpha1.EvalSuite, files []golden.File) (*golden.Set, error) {
	set, err := golden.Read(files...)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "the golden set cannot be read: %w", err)
	}
	all := set
	set = set.WithTags(s.Spec.GoldenSet.Tags)
	if len(set.Cases) == 0 {
		return nil, errorf(ReasonGoldenSetInvalid, "no case carries one of spec.goldenSet.tags %v: the golden set has the tags %v", s.Spec.GoldenSet.Tags, firstFew(all.Tags()))
	}
	tags := set.Tags()
	for _, o := range s.Spec.Objectives {
		if tag := tagOf(o); tag != "" && !slices.Contains(tags, tag) {
			return nil, errorf(ReasonInvalidObjective, "spec.objectives: no case carries the tag %q of the objective on %s: the golden set has the tags %v", tag, o.Metric, firstFew(tags))
		}
	}
	return set, nil
}

// firstFew keeps a message short.
func firstFew(tags []string) []string {
	const few = 12
	if len(tags) <= few {
		return tags
	}
	return append(slices.Clone(tags[:few]), fmt.Sprintf("and %d more", len(tags)-few))
}

func goldenFiles(ctx context.Context, s *v1alpha1.EvalSuite, src Source, d Deps) ([]golden.File, error) {
	g := &s.Spec.GoldenSet
	switch {
	case g.ConfigMapRef != nil:
		cm, err := src.ConfigMap(ctx, g.ConfigMapRef.Name)
		if apierrors.IsNotFound(err) {
			return nil, errorf(ReasonGoldenSetNotFound, "the ConfigMap %q of spec.goldenSet.configMapRef does not exist in namespace %q: create it, the suite goes on by itself", g.ConfigMapRef.Name, s.Namespace)
		}
		if err != nil {
			return nil, outage(ReasonGoldenSetUnreadable, fmt.Errorf("read ConfigMap %s: %w", g.ConfigMapRef.Name, err))
		}
		return filesOf(cm, g.ConfigMapRef.Key, false)
	case g.ConfigMapSelector != nil:
		return selectedFiles(ctx, s, src)
	case g.HTTP != nil:
		return fetchGolden(ctx, g.HTTP, d.HTTPClient)
	}
	return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet names no source: give configMapRef, configMapSelector or http")
}

func selectedFiles(ctx context.Context, s *v1alpha1.EvalSuite, src Source) ([]golden.File, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.Spec.GoldenSet.ConfigMapSelector)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.configMapSelector: %w", err)
	}
	if selector.Empty() {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.configMapSelector is empty and would pick every ConfigMap of the namespace: give it matchLabels")
	}
	cms, err := src.ConfigMaps(ctx, selector)
	if err != nil {
		return nil, outage(ReasonGoldenSetUnreadable, fmt.Errorf("list ConfigMaps: %w", err))
	}
	if len(cms) == 0 {
		return nil, errorf(ReasonGoldenSetNotFound, "no ConfigMap in namespace %q matches spec.goldenSet.configMapSelector %q: label one, the suite goes on by itself", s.Namespace, selector)
	}
	var files []golden.File
	for i := range cms {
		more, err := filesOf(&cms[i], "", true)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// filesOf gives the ConfigMap's files, one key or all in the order of their names.
func filesOf(cm *corev1.ConfigMap, key string, qualified bool) ([]golden.File, error) {
	keys := slices.Sorted(maps.Keys(cm.Data))
	keys = append(keys, slices.Collect(maps.Keys(cm.BinaryData))...)
	slices.Sort(keys)
	if key != "" {
		if !slices.Contains(keys, key) {
			return nil, errorf(ReasonGoldenSetNotFound, "the ConfigMap %q has no key %q: it has %v", cm.Name, key, keys)
		}
		keys = []string{key}
	}
	if len(keys) == 0 {
		return nil, errorf(ReasonGoldenSetInvalid, "the ConfigMap %q is empty: give it a key such as golden.yaml", cm.Name)
	}
	files := make([]golden.File, len(keys))
	for i, k := range keys {
		name := k
		if qualified {
			name = cm.Name + "/" + k
		}
		data, binary := cm.BinaryData[k]
		if !binary {
			data = []byte(cm.Data[k])
		}
		files[i] = golden.File{Name: name, Data: data}
	}
	return files, nil
}

// fetchGolden gets the file and holds it to its digest.
func fetchGolden(ctx context.Context, src *v1alpha1.GoldenHTTPSource, client *http.Client) ([]golden.File, error) {
	if client == nil {
		client = &http.Client{}
	}
	bounded := *client
	bounded.CheckRedirect = sameHostRedirects
	ctx, cancel := context.WithTimeout(ctx, goldenTimeout)
	defer cancel()

	u, err := url.Parse(src.URL)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.http.url is no URL: write it as https://host/path")
	}
	where := u.Host + u.Path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, src.URL, nil)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.http.url is no URL: write it as https://host/path")
	}
	resp, err := bounded.Do(req)
	if err != nil {
		// The URL in a *url.Error may carry a signed query.
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, outage(ReasonGoldenSetUnreadable, fmt.Errorf("fetch the golden set from %s: %w", where, err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, outage(ReasonGoldenSetUnreadable, fmt.Errorf("fetch the golden set from %s: the server answered %s", where, resp.Status))
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxGoldenBytes+1))
	if err != nil {
		return nil, outage(ReasonGoldenSetUnreadable, fmt.Errorf("fetch the golden set from %s: %w", where, err))
	}
	if len(data) > maxGoldenBytes {
		return nil, errorf(ReasonGoldenSetInvalid, "the golden set at %s is over 64 MiB: split it or compress it with gzip", where)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); !strings.EqualFold(got, src.SHA256) {
		return nil, errorf(ReasonGoldenSetInvalid, "the golden set at %s has the SHA-256 %s, but spec.goldenSet.http.sha256 pins %s: if the change is meant, write the new digest there", where, got, src.SHA256)
	}
	return []golden.File{{Name: path.Base(u.Path), Data: data}}, nil
}

func sameHostRedirects(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if req.URL.Host != via[0].URL.Host {
		return fmt.Errorf("the server redirects to another host, %s: use that URL itself if you trust it", req.URL.Host)
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("the server redirects from https to http")
	}
	return nil
}

func outage(reason string, err error) *Error {
	return &Error{Reason: reason, Message: err.Error(), Transient: true, Err: err}
}
