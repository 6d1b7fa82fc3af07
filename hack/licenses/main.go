// Command licenses says under which licences the modules come that are linked
// into Assay, and refuses those that Assay must not be shipped with.
//
//	go run ./hack/licenses          # the list, as docs/licenses.md has it
//	go run ./hack/licenses -texts   # the texts, as archives and image carry them
//
// It asks nobody: the texts are read from the modules as Go downloaded them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	texts := flag.Bool("texts", false, "print the texts of the licences instead of their list")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *texts); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, texts bool) error {
	modules, err := linkedModules(ctx)
	if err != nil {
		return err
	}
	var refused []error
	found := make([]licensed, 0, len(modules))
	for _, m := range modules {
		l, err := detect(m)
		if err == nil {
			err = l.check()
		}
		if err != nil {
			refused = append(refused, err)
		}
		found = append(found, l)
	}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	if texts {
		return writeTexts(w, found)
	}
	return writeList(w, found)
}
