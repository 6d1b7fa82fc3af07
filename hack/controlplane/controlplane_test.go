package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var versions = map[string]string{"etcd": "v3.7.3", "kube-apiserver": "v1.37.2", "kubectl": "v1.37.2", "kube-controller-manager": "v1.37.2"}

var now = time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)

// fill puts executable files into a folder.
func fill(t *testing.T, dir string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// filled is a store in which the named binaries were built.
func filled(t *testing.T, names ...string) store {
	t.Helper()
	s := store{dir: t.TempDir(), versions: versions}
	for _, name := range names {
		file := filepath.Join(s.dir, "new")
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := s.put(name, file); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// What is taken, in the order of preference, and what is done for it.
func TestFind(t *testing.T) {
	complete := fill(t, t.TempDir(), base...)
	halfway := fill(t, t.TempDir(), "etcd", "kubectl")
	for name, tt := range map[string]struct {
		set     string
		store   store
		names   []string
		refused time.Time // when a download was refused, zero for never
		brought string    // what a download brings, "" for an error
		want    string    // "store" for the store
		built   []string
		asked   bool // whether a download was tried
		wantErr string
	}{
		"the user's own": {
			set: complete, store: filled(t), names: base, want: complete,
		},
		"the user's own before what was built": {
			set: complete, store: filled(t, base...), names: base, want: complete,
		},
		"the user's own lacks one": {
			set: halfway, store: filled(t, base...), names: base,
			wantErr: "KUBEBUILDER_ASSETS is " + halfway + ", which lacks kube-apiserver: add what is missing, or unset it",
		},
		"built before": {
			store: filled(t, base...), names: base, want: "store",
		},
		"downloaded": {
			store: filled(t), names: base, brought: complete, want: complete, asked: true,
		},
		"downloaded though a part was built": {
			store: filled(t, "etcd"), names: base, brought: complete, want: complete, asked: true,
		},
		"download fails": {
			store: filled(t), names: base, want: "store", built: base, asked: true,
		},
		"download lacks one": {
			store: filled(t), names: base, brought: halfway, want: "store", built: base, asked: true,
		},
		"download was refused an hour ago": {
			store: filled(t), names: base, refused: now.Add(-time.Hour), brought: complete, want: "store", built: base,
		},
		"download was refused two days ago": {
			store: filled(t), names: base, refused: now.Add(-48 * time.Hour), brought: complete, want: complete, asked: true,
		},
		"what no download has": {
			store: filled(t, base...), names: append(slices.Clone(base), "kube-controller-manager"), brought: complete,
			want: "store", built: []string{"kube-controller-manager"},
		},
		"another version was built": {
			store: func() store {
				s := filled(t, base...)
				s.versions = map[string]string{"etcd": "v3.7.3", "kube-apiserver": "v1.38.0", "kubectl": "v1.38.0"}
				return s
			}(),
			names: base, want: "store", built: []string{"kube-apiserver", "kubectl"}, asked: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !tt.refused.IsZero() {
				tt.store.refuse(tt.refused)
			}
			var built []string
			asked := false
			f := finder{
				set: tt.set, store: tt.store,
				now: func() time.Time { return now },
				say: t.Logf,
				download: func(context.Context) (string, error) {
					asked = true
					if tt.brought == "" {
						return "", errors.New("no such host")
					}
					return tt.brought, nil
				},
				build: func(_ context.Context, names []string) error {
					built = names
					return nil
				},
			}
			got, err := f.find(t.Context(), tt.names)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("find = %q, %v, want the error %q", got, err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if want == "store" {
				want = tt.store.dir
			}
			if got != want {
				t.Errorf("find = %q, want %q", got, want)
			}
			if diff := cmp.Diff(tt.built, built); diff != "" {
				t.Errorf("built (-want +got):\n%s", diff)
			}
			if asked != tt.asked {
				t.Errorf("asked for a download: %t, want %t", asked, tt.asked)
			}
		})
	}
}

func TestARefusalIsRemembered(t *testing.T) {
	asked := 0
	f := finder{
		store: filled(t), now: func() time.Time { return now }, say: t.Logf,
		download: func(context.Context) (string, error) { asked++; return "", errors.New("no such host") },
		build:    func(context.Context, []string) error { return nil },
	}
	for range 3 {
		if _, err := f.find(t.Context(), base); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for a download that was refused, want once", asked)
	}
}

// An interrupt is no refusal, and starts no build.
func TestAnInterruptEndsTheSearch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := finder{
		store: filled(t), now: func() time.Time { return now }, say: t.Logf,
		download: func(context.Context) (string, error) { cancel(); return "", context.Canceled },
		build:    func(context.Context, []string) error { t.Error("a build was started"); return nil },
	}
	if _, err := f.find(ctx, base); !errors.Is(err, context.Canceled) {
		t.Errorf("find: %v, want %v", err, context.Canceled)
	}
	if f.store.refusedSince(time.Time{}) {
		t.Error("the interrupt was taken for a refusal")
	}
}

func TestPrintDoesNothing(t *testing.T) {
	f := finder{store: filled(t, "etcd"), now: func() time.Time { return now }, say: t.Logf}
	if _, err := f.find(t.Context(), base); err == nil || !strings.Contains(err.Error(), "kube-apiserver, kubectl are not in") {
		t.Errorf("find: %v, want it to name what is missing", err)
	}
}

func TestMissingIn(t *testing.T) {
	dir := fill(t, t.TempDir(), "etcd")
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "kube-apiserver"), 0o755); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kube-apiserver", "kubectl", "other"}, missingIn(dir, []string{"etcd", "kube-apiserver", "kubectl", "other"})); diff != "" {
		t.Errorf("missingIn (-want +got):\n%s", diff)
	}
}

func TestBinaryWithoutStampIsMissing(t *testing.T) {
	s := filled(t, base...)
	if err := os.Remove(s.stamp("kubectl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.dir, "etcd")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"etcd", "kubectl"}, s.missing(base)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// The stamps are those that other tools read and write: a line with the version.
func TestStamp(t *testing.T) {
	s := filled(t, "etcd")
	data, err := os.ReadFile(filepath.Join(s.dir, ".version", "etcd"))
	if err != nil || string(data) != "v3.7.3\n" {
		t.Errorf("stamp = %q, %v", data, err)
	}
}

// Two builds at once would write one file.
func TestOneBuildAtATime(t *testing.T) {
	s := filled(t)
	unlock, err := s.lock(t.Context(), func() { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	waiting, done := make(chan struct{}), make(chan error, 1)
	b := builder{store: s, say: func(string, ...any) { close(waiting) }, output: os.Stderr}
	go func() { done <- b.build(t.Context(), []string{"etcd"}) }()
	<-waiting
	// The first one builds what the second one waits for: nothing is left to do.
	file := filepath.Join(s.dir, "new")
	if err := os.WriteFile(file, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.put("etcd", file); err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := <-done; err != nil {
		t.Errorf("the one who waited: %v", err)
	}
}

// A build may take minutes; who waits for it can leave.
func TestAnInterruptEndsTheWait(t *testing.T) {
	s := filled(t)
	unlock, err := s.lock(t.Context(), func() { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, interrupt := context.WithCancel(t.Context())
	b := builder{store: s, say: func(string, ...any) { interrupt() }, output: os.Stderr}
	if err := b.build(ctx, []string{"etcd"}); !errors.Is(err, context.Canceled) {
		t.Errorf("build: %v, want %v", err, context.Canceled)
	}
}

func TestWanted(t *testing.T) {
	for with, want := range map[string][]string{
		"":                               base,
		"kubectl":                        base,
		"kube-controller-manager":        append(slices.Clone(base), "kube-controller-manager"),
		"etcd, kube-controller-manager,": append(slices.Clone(base), "kube-controller-manager"),
		"kubelet,kube-proxy,kubelet":     append(slices.Clone(base), "kubelet", "kube-proxy"),
	} {
		got, err := wanted(with)
		if err != nil {
			t.Errorf("wanted(%q): %v", with, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("wanted(%q) (-want +got):\n%s", with, diff)
		}
	}
	_, err := wanted("kube-dns")
	if err == nil || !strings.Contains(err.Error(), `"kube-dns"`) || !strings.Contains(err.Error(), "-with takes kube-controller-manager, kube-proxy, kube-scheduler, kubelet") {
		t.Errorf("wanted(kube-dns): %v, want it refused by name, and told what there is", err)
	}
}

func TestCacheDir(t *testing.T) {
	user := func() (string, error) { return "/home/me/.cache", nil }
	none := func() (string, error) { return "", errors.New("no HOME") }
	set := func(value string) func(string) string { return func(string) string { return value } }
	if got, err := cacheDir(set(""), user); err != nil || got != "/home/me/.cache/k8s-bin" {
		t.Errorf("by default: %q, %v", got, err)
	}
	if got, err := cacheDir(set("/opt/k8s"), none); err != nil || got != "/opt/k8s" {
		t.Errorf("set: %q, %v", got, err)
	}
	if _, err := cacheDir(set(""), none); err == nil || !strings.Contains(err.Error(), "K8S_BIN") {
		t.Errorf("nowhere: %v, want it to name K8S_BIN", err)
	}
}

func TestRequiredVersion(t *testing.T) {
	for name, tt := range map[string]struct{ mod, want string }{
		"in a block":      {"require (\n\tk8s.io/api v0.37.2\n\tk8s.io/kubernetes v1.37.2 // indirect\n)\n", "v1.37.2"},
		"on a line":       {"require k8s.io/kubernetes v1.37.2\n", "v1.37.2"},
		"a longer module": {"require k8s.io/kubernetes/x v1.0.0\n", ""},
		"replaced only":   {"replace (\n\tk8s.io/kubernetes => k8s.io/kubernetes v1.36.0\n)\n", ""},
		"nothing":         {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := requiredVersion(tt.mod, "k8s.io/kubernetes"); got != tt.want {
				t.Errorf("requiredVersion = %q, want %q", got, tt.want)
			}
		})
	}
}

// Every binary that may be asked for has a module here that says its version.
func TestModulesSayTheirVersions(t *testing.T) {
	got, err := readVersions(".")
	if err != nil {
		t.Fatal(err)
	}
	for name := range sources {
		if !strings.HasPrefix(got[name], "v") {
			t.Errorf("version of %s = %q", name, got[name])
		}
	}
	if _, err := readVersions(t.TempDir()); err == nil {
		t.Error("a folder without modules has versions")
	}
}

func TestLdflags(t *testing.T) {
	if got, want := ldflags("etcd", "v3.7.3"), "-s -w"; got != want {
		t.Errorf("etcd: %q, want %q", got, want)
	}
	const v = "k8s.io/component-base/version"
	want := "-s -w -X " + v + ".gitVersion=v1.37.2 -X " + v + ".gitMajor=1 -X " + v + ".gitMinor=37"
	if got := ldflags("kubectl", "v1.37.2"); got != want {
		t.Errorf("kubectl: %q, want %q", got, want)
	}
}

func TestMinor(t *testing.T) {
	for version, want := range map[string]string{"v1.37.2": "1.37", "v1.37": "1.37", "v2": "2"} {
		if got := minor(version); got != want {
			t.Errorf("minor(%s) = %q, want %q", version, got, want)
		}
	}
}

func TestARelativeFolderIsMadeAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("assets", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("assets", "etcd"), []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := finder{set: "assets"}.find(t.Context(), []string{"etcd"})
	if err != nil || !filepath.IsAbs(got) {
		t.Errorf("find gave %q, %v, want an absolute path: tests run in their own folders", got, err)
	}
}
