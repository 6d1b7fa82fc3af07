// Assay is a Kubernetes operator, and a command line, that runs RAG regression tests.
package main

import (
	"os"

	"github.com/assay-dev/assay/internal/cli"
)

func main() { os.Exit(cli.Execute()) }
