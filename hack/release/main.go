// Command release builds everything that a release consists of:
//
//	make release VERSION=v0.1.0
//
// Into the folder dist it writes archives with the binary for each platform, an
// SBOM beside each, the chart, the manifest that installs everything, the release
// notes, and SHA256SUMS over them all. The same commit and the same Go give the
// same bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	r := release{say: func(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }}
	var platforms string
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "version to release, v0.1.0 for example")
	flags.StringVar(&r.source, "source", ".", "work tree to release")
	flags.StringVar(&r.dist, "dist", "dist", "folder that everything is written to; what stands there is removed")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "platforms to build for")
	flags.StringVar(&r.helm, "helm", "helm", "program that packages the chart")
	flags.StringVar(&r.cyclonedx, "cyclonedx-gomod", "cyclonedx-gomod", "program that writes SBOMs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see -help", flags.Arg(0))
	}
	for p := range strings.SplitSeq(platforms, ",") {
		platform, err := parsePlatform(p)
		if err != nil {
			return err
		}
		r.platforms = append(r.platforms, platform)
	}
	return r.run(ctx)
}
