// Command controlplane prints the folder that holds etcd, kube-apiserver and
// kubectl, for tests that need a real API server:
//
//	KUBEBUILDER_ASSETS=$(go run ./hack/controlplane) go test ./...
//
// It takes the folder that KUBEBUILDER_ASSETS names where that is set, else what
// is in the cache from an earlier call, else what setup-envtest downloads within
// a few seconds, else it builds the binaries from their Go modules, once, into
// $K8S_BIN (by default k8s-bin in the user's cache folder). What it does, and how
// long that takes, it says on standard error.
//
//	-with NAME,…   also these, which setup-envtest does not have: kube-controller-manager for the
//	               end-to-end tests, and with it kube-proxy, kube-scheduler and kubelet for hack/cluster
//	-print         do nothing: print the folder if all is there, else say what is to be done and exit 1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := run(ctx, os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		stop()
		os.Exit(1)
	}
	fmt.Println(dir)
}

func run(ctx context.Context, args []string, stderr io.Writer) (string, error) {
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	flags.SetOutput(stderr)
	with := flags.String("with", "", "further binaries, separated by commas: "+strings.Join(further(), ", "))
	printOnly := flags.Bool("print", false, "download and build nothing: print the folder if all is there, else fail")
	if err := flags.Parse(args); err != nil {
		return "", err
	}
	names, err := wanted(*with)
	if err != nil {
		return "", err
	}

	module, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	versions, err := readVersions(filepath.Join(module, "hack", "controlplane"))
	if err != nil {
		return "", err
	}
	cache, err := cacheDir(os.Getenv, os.UserCacheDir)
	if err != nil {
		return "", err
	}
	say := func(format string, a ...any) { fmt.Fprintf(stderr, "controlplane: "+format+"\n", a...) }
	store := store{dir: cache, versions: versions}
	finder := finder{
		set:   os.Getenv("KUBEBUILDER_ASSETS"),
		store: store,
		now:   time.Now,
		say:   say,
	}
	if !*printOnly {
		finder.download = envtest{dir: cache, kubernetes: versions["kube-apiserver"], say: say}.download
		finder.build = builder{store: store, modules: filepath.Join(module, "hack", "controlplane"), say: say, output: stderr}.build
	}
	return finder.find(ctx, names)
}

// base is what every control plane needs, and what setup-envtest downloads.
var base = []string{"etcd", "kube-apiserver", "kubectl"}

// further are the binaries beyond those, which only a build brings.
func further() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(sources)), func(name string) bool { return slices.Contains(base, name) })
}

// wanted is what every control plane needs, and what is asked for beyond it.
func wanted(with string) ([]string, error) {
	names := slices.Clone(base)
	for name := range strings.SplitSeq(with, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(names, name) {
			continue
		}
		if !slices.Contains(further(), name) {
			return nil, fmt.Errorf("there is no binary %q to be had: -with takes %s", name, strings.Join(further(), ", "))
		}
		names = append(names, name)
	}
	return names, nil
}

// cacheDir is where binaries are kept: $K8S_BIN, or k8s-bin in the user's cache folder.
func cacheDir(getenv func(string) string, userCacheDir func() (string, error)) (string, error) {
	if dir := getenv("K8S_BIN"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := userCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a cache folder (set K8S_BIN to choose one): %w", err)
	}
	return filepath.Join(dir, "k8s-bin"), nil
}
