package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// moduleDir is the folder of the module that this command is part of.
func moduleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("asking go for the module: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", fmt.Errorf("this folder is in no Go module: run from the project's folder")
	}
	return filepath.Dir(file), nil
}

// sources says which module each binary is built from: the folder here, the
// module that carries it and its package.
var sources = map[string]struct{ folder, module, pkg string }{
	"etcd":                    {"etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"},
	"kube-apiserver":          {"kubernetes", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"},
	"kube-controller-manager": {"kubernetes", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"},
	"kube-proxy":              {"kubernetes", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-proxy"},
	"kube-scheduler":          {"kubernetes", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"},
	"kubectl":                 {"kubernetes", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kubectl"},
	"kubelet":                 {"kubernetes", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kubelet"},
}

// readVersions reads from the modules under dir which version each binary has.
func readVersions(dir string) (map[string]string, error) {
	versions := map[string]string{}
	for name, source := range sources {
		file := filepath.Join(dir, source.folder, "go.mod")
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the version of %s (run from the project's folder): %w", name, err)
		}
		version := requiredVersion(string(data), source.module)
		if version == "" {
			return nil, fmt.Errorf("%s requires no %s: it says which %s is built", file, source.module, name)
		}
		versions[name] = version
	}
	return versions, nil
}

// requiredVersion finds a module's version in the text of a go.mod.
func requiredVersion(mod, module string) string {
	match := regexp.MustCompile(`(?m)^(?:require)?\s+` + regexp.QuoteMeta(module) + `\s+(v\S+)`).FindStringSubmatch(mod)
	if match == nil {
		return ""
	}
	return match[1]
}
