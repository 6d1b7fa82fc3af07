package workload

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestImageIDs(t *testing.T) {
	api, index, cache, canary := deployment("api", "app:1"), statefulSet("index", "app:1"), daemonSet("cache", "app:1"), argo(t, "canary", nil)
	rs := replicaSet(api, "aa", "app:1", "1")
	argoRS := argoReplicaSet(canary, "aa", "app:1")
	withInit := pod("api-2", rs, app("api"), "registry.example/app@sha256:02")
	withInit.Status.InitContainerStatuses = []corev1.ContainerStatus{{ImageID: "registry.example/init@sha256:03"}, {}}
	noConditions := pod("api-6", rs, app("api"), "not-ready@sha256:ff")
	noConditions.Status.Conditions = nil
	loose := pod("api-7", nil, app("api"), "not-owned@sha256:ff")
	r := reader(t, interceptor.Funcs{},
		api, rs, index, controllerRevision(t, index, "index-aa", "aa", 1, template("index", "app:1")),
		cache, controllerRevision(t, cache, "cache-aa", "aa", 1, template("cache", "app:1")), canary, argoRS,
		pod("api-1", rs, app("api"), "docker-pullable://registry.example/app@sha256:01", "sha256:05"), withInit,
		pod("api-3", rs, app("api"), "registry.example/app@sha256:02"),
		unready(pod("api-4", rs, app("api"), "not-ready@sha256:ff")), leaving(pod("api-5", rs, app("api"), "leaving@sha256:ff")), noConditions, loose,
		pod("other", index, app("api"), "of-another@sha256:ff"),
		pod("index-0", index, app("index"), "db@sha256:06"), pod("cache-x", cache, app("cache"), "cache@sha256:07"),
		pod("canary-1", argoRS, with(app("canary"), argoHashLabel, "aa"), "canary@sha256:08"),
		pod("canary-0", argoReplicaSet(canary, "00", "app:0"), with(app("canary"), argoHashLabel, "00"), "older@sha256:ff"),
	)
	s := read(t, r, "Deployment", "api", "StatefulSet", "index", "DaemonSet", "cache", "Rollout", "canary", "Deployment", "gone")
	want := [][]string{
		{"registry.example/app@sha256:01", "registry.example/app@sha256:02", "registry.example/init@sha256:03", "sha256:05"},
		{"db@sha256:06"}, {"cache@sha256:07"}, {"canary@sha256:08"}, nil,
	}
	for i, w := range s.Workloads {
		got, err := r.ImageIDs(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", w.Kind, w.Name, diff)
		}
	}
}

func TestPodsAreReadPageByPage(t *testing.T) {
	api := deployment("api", "app:1")
	rs := replicaSet(api, "aa", "app:1", "1")
	outage := errors.New("the server is down")
	var asked []string
	var limits []int64
	pages := map[string]*corev1.PodList{
		"":  {Items: []corev1.Pod{*pod("api-1", rs, app("api"), "app@sha256:01")}},
		"2": {Items: []corev1.Pod{*pod("api-2", rs, app("api"), "app@sha256:02")}},
	}
	pages[""].Continue = "2"
	r := reader(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
		pods, ok := l.(*corev1.PodList)
		if !ok {
			return c.List(ctx, l, opts...)
		}
		options := (&client.ListOptions{}).ApplyOptions(opts)
		asked, limits = append(asked, options.Continue), append(limits, options.Limit)
		page := pages[options.Continue]
		if page == nil {
			return outage
		}
		page.DeepCopyInto(pods)
		return nil
	}}, api, rs)
	w := read(t, r, "Deployment", "api").Workloads[0]
	got, err := r.ImageIDs(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"app@sha256:01", "app@sha256:02"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", "2"}, asked); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{500, 500}, limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	pages["2"].Continue = "lost"
	if _, err := r.ImageIDs(t.Context(), w); !errors.Is(err, outage) {
		t.Errorf("a page is lost: %v", err)
	}
}
