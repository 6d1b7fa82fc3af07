package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/internal/samplerag"
)

// sampleRAGOptions are the flags of assay sample-rag.
type sampleRAGOptions struct {
	dirs    []string
	files   []string
	root    string
	exclude []string
	addr    string
	latency time.Duration
}

func newSampleRAGCommand() *cobra.Command {
	var o sampleRAGOptions
	cmd := &cobra.Command{
		Use:   "sample-rag",
		Short: "Serve a small real retriever over a folder of documents",
		Long: `Index Markdown and text files, English and Korean, in memory and answer
POST /search with BM25, as the preset Assay asks:

  {"query": "how do I start", "top_k": 10}

It is for trying Assay, for the demo and for tests.`,
		Example: `  assay sample-rag --dir docs --file README.md
  curl -s localhost:8090/search -d '{"query": "how do I start", "top_k": 3}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return o.run(ctx, cmd)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.dirs, "dir", nil, "folder whose .md, .markdown and .txt files are indexed; may be given again")
	f.StringArrayVar(&o.files, "file", nil, "file that is indexed; may be given again")
	f.StringVar(&o.root, "root", ".", "folder that --dir, --file and document ids are relative to")
	f.StringArrayVar(&o.exclude, "exclude", nil, "document, folder or pattern that is left out, for example docs/adr; may be given again")
	f.StringVar(&o.addr, "addr", "127.0.0.1:8090", "address to listen on; port 0 picks a free one")
	f.DurationVar(&o.latency, "latency", 0, "delay of every answer, for example 50ms, at most 10s")
	return cmd
}

func (o *sampleRAGOptions) run(ctx context.Context, cmd *cobra.Command) error {
	if len(o.dirs)+len(o.files) == 0 {
		return errors.New("nothing to index: give --dir or --file, for example --dir docs")
	}
	if o.latency < 0 || o.latency > samplerag.MaxLatency {
		return fmt.Errorf("--latency is %s: give a duration from 0s to %s", o.latency, samplerag.MaxLatency)
	}
	ix, err := samplerag.Build(ctx, append(o.dirs, o.files...), samplerag.Options{Root: o.root, Exclude: o.exclude})
	if err != nil {
		return err
	}
	defer func() { _ = ix.Close() }()
	for _, w := range ix.Warnings() {
		cmd.PrintErrln("warning:", w)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return fmt.Errorf("listen on %s (--addr picks another address): %w", o.addr, err)
	}
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "serving %d documents in %d chunks (corpus %s) at http://%s/search\n",
		len(ix.Documents()), ix.Chunks(), ix.CorpusVersion(), l.Addr())
	return samplerag.Serve(ctx, l, samplerag.WithLatency(ix.Handler(), o.latency))
}
