package controllers_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/operator"
)

// tokenOf gives the token of an account that may do everything.
func tokenOf(t *testing.T, namespace string) string {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "anything"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	must(t, cluster.Create(t.Context(), account))
	must(t, cluster.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: meta.Name}},
	}))
	token := &authenticationv1.TokenRequest{}
	must(t, cluster.SubResource("token").Create(t.Context(), account, token))
	return token.Status.Token
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// ask asks an address over plain HTTP.
func ask(t *testing.T, method, url, token string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	must(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// An operator that is told to stop in the middle of its work leaves nothing behind:
// what is measured is kept, who waits is answered, and the lease is there for the
// next one.
func TestAnOrderlyStop(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	stub.behave(func(w http.ResponseWriter, r *http.Request, question string, topK int) {
		if question == "where is b1" {
			<-r.Context().Done()
			return
		}
		perfect(w, r, question, topK)
	})
	api, probes := freeAddress(t), freeAddress(t)
	dsn := "sqlite://" + filepath.Join(t.TempDir(), "history.db")
	op := startOperator(t, ns, func(o *operator.Options) {
		o.LeaderElect, o.LeaderElectNamespace = true, ns
		o.APIAddress, o.ProbeAddress, o.History = api, probes, dsn
	})
	eventually(t, func() error {
		code, text, err := ask(t, http.MethodGet, "http://"+probes+"/readyz?verbose", "")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d %s", code, text)
		}
		return err
	})
	for path, want := range map[string]string{
		"/readyz?verbose": "[+]api ok\n[+]cache ok\nhealthz check passed\nhistory: sqlite, open\n",
		"/readyz":         "ok",
		"/readyz/api":     "ok",
		"/healthz":        "ok",
		"/healthz/runs":   "ok",
	} {
		if code, text, err := ask(t, http.MethodGet, "http://"+probes+path, ""); err != nil || code != http.StatusOK || text != want {
			t.Errorf("%s is answered %d %q, %v", path, code, text, err)
		}
	}

	applyGolden(t, ns, "golden", goldenOf("a1", "a2", "b1"))
	must(t, cluster.Create(t.Context(), newSuite(ns, stub.URL)))
	eventually(t, func() error {
		if n := stub.count(); n != 3 {
			return fmt.Errorf("%d calls are made, want 3", n)
		}
		return nil
	})
	first := runsOf(t, ns)[0]
	token := tokenOf(t, ns)
	held := make(chan string, 1)
	go func() {
		code, text, err := ask(t, http.MethodPost, "http://"+api+"/api/v1/eval/rag/"+ns+"/docs-bot?wait=60s", token)
		held <- fmt.Sprint(code, " ", text, err)
	}()
	eventually(t, func() error {
		if runs := runsOf(t, ns); len(runs) != 2 {
			return fmt.Errorf("the API has started no run: %s", describe(runs))
		}
		return nil
	})
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "operator.assay.dev"}}
	if holder := ptr.Deref(get(t, lease).Spec.HolderIdentity, ""); holder == "" {
		t.Error("nobody holds the lease")
	}

	op.stop()
	if got := <-held; !strings.HasPrefix(got, "202 ") {
		t.Errorf("who waited is answered %s", got)
	}
	if holder := ptr.Deref(get(t, lease).Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("%s still holds the lease", holder)
	}
	store, err := history.Open(t.Context(), dsn, history.Options{})
	must(t, err)
	defer func() { _ = store.Close() }()
	kept, err := store.Checkpoint(t.Context(), string(first.UID))
	must(t, err)
	if len(kept) != 2 {
		t.Errorf("%d cases are kept, want the two that had ended", len(kept))
	}
	if st := get(t, &first).Status; st.Verdict != "" || ptr.Deref(st.Attempts, 0) != 0 {
		t.Errorf("the run has verdict %q and %d attempts, want neither: it goes on", st.Verdict, ptr.Deref(st.Attempts, 0))
	}
}
