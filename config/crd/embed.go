// Package crd holds the CustomResourceDefinitions as they are installed, so
// that `assay run` applies the same defaults and rules with no cluster.
package crd

import "embed"

// FS holds bases/assay.dev_evalsuites.yaml and bases/assay.dev_evalruns.yaml.
//
//go:embed bases/*.yaml
var FS embed.FS
