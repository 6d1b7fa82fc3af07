// Package samplerag is a small real RAG service: BM25 over Markdown and text
// files, English and Korean, and extractive answers, behind Assay's own
// protocols. It is what the demo and the tests ask, and a template for a service
// of one's own.
package samplerag

import (
	"context"
	"fmt"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"golang.org/x/text/unicode/norm"
)

// Limits of a search.
const (
	// MaxTopK is the largest number of results that may be asked for.
	MaxTopK = 1000
	// MaxQueryBytes is the longest query, in bytes.
	MaxQueryBytes = 32 << 10
)

// Options of Build. The zero value is ready for use.
type Options struct {
	// Root is the folder that paths and document ids are relative to; the working directory by default.
	Root string
	// Exclude leaves documents out: ids, folders or path.Match patterns, for example docs/adr.
	Exclude []string
	// ChunkRunes bounds a chunk's text without its headings, in characters; 1200 by default.
	ChunkRunes int
}

// Hit is one chunk that matches a query.
type Hit struct {
	// ID of the chunk: the document's id, #, and the chunk's number from 1.
	ID string
	// Document is the file's path below Options.Root, with forward slashes.
	Document string
	// Title is the chunk's headings, outermost first, joined by " > ".
	Title string
	// Text of the chunk.
	Text string
	// Score is BM25, above 0; it compares within one answer only.
	Score float64
}

// Index is a searchable corpus. It is safe for concurrent use.
type Index struct {
	bleve     bleve.Index
	chunks    map[string]chunk
	documents []string
	warnings  []string
	version   string
	stats     *search.BM25Stats
	mapping   *mapping.IndexMappingImpl
}

// Build reads the files and folders of paths and indexes them in memory.
// A path that does not exist, and a corpus without any document, are errors;
// files that cannot be used are left out and named by Warnings.
func Build(ctx context.Context, paths []string, opts Options) (*Index, error) {
	if opts.ChunkRunes <= 0 {
		opts.ChunkRunes = defaultChunkRunes
	}
	corpus, err := readCorpus(ctx, paths, opts)
	if err != nil {
		return nil, err
	}
	ix := &Index{
		chunks:   map[string]chunk{},
		warnings: corpus.warnings,
		version:  corpus.version(opts.ChunkRunes),
	}
	if ix.mapping, err = newMapping(); err != nil {
		return nil, fmt.Errorf("prepare the text analysis: %w", err)
	}
	// An empty path keeps the index in memory.
	ix.bleve, err = bleve.NewUsing("", ix.mapping, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("open an index in memory: %w", err)
	}
	if err := ix.add(ctx, corpus.documents, opts.ChunkRunes); err != nil {
		_ = ix.Close()
		return nil, err
	}
	ix.stats, err = fieldStats(ix.mapping, ix.chunks)
	if err != nil {
		_ = ix.Close()
		return nil, fmt.Errorf("measure the corpus: %w", err)
	}
	return ix, nil
}

func (ix *Index) add(ctx context.Context, documents []document, chunkRunes int) error {
	// One batch makes one segment, so that equal corpora are equal indexes.
	batch := ix.bleve.NewBatch()
	for _, d := range documents {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("index %s: %w", d.id, err)
		}
		ix.documents = append(ix.documents, d.id)
		for _, c := range split(d, chunkRunes) {
			ix.chunks[c.id] = c
			if err := batch.Index(c.id, c.fields()); err != nil {
				return fmt.Errorf("index %s: %w", c.id, err)
			}
		}
	}
	if err := ix.bleve.Batch(batch); err != nil {
		return fmt.Errorf("index %d documents: %w", len(documents), err)
	}
	return nil
}

// Search gives the topK chunks that match the query, best first; equal scores
// are ordered by id. A query without a word that the corpus knows gives none.
func (ix *Index) Search(ctx context.Context, query string, topK int) ([]Hit, error) {
	if err := checkQuery(query, topK); err != nil {
		return nil, err
	}
	query = norm.NFC.String(query)
	english, cjk := bleve.NewMatchQuery(query), bleve.NewMatchQuery(query)
	english.SetField(fieldEnglish)
	cjk.SetField(fieldCJK)
	req := bleve.NewSearchRequestOptions(bleve.NewDisjunctionQuery(english, cjk), topK, 0, false)
	req.SortBy([]string{"-_score", "_id"})

	// bleve takes the size of a field's vocabulary for the sum of its lengths;
	// handing it the true sum makes the length normalisation that of BM25.
	res, err := ix.bleve.SearchInContext(context.WithValue(ctx, search.BM25StatsKey, ix.stats), req)
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	hits := make([]Hit, 0, len(res.Hits))
	for _, m := range res.Hits {
		c := ix.chunks[m.ID]
		hits = append(hits, Hit{ID: c.id, Document: c.document, Title: c.title(), Text: c.text, Score: m.Score})
	}
	return hits, nil
}

// CorpusVersion identifies the indexed content: 16 hexadecimal digits that
// change exactly when a document, its text or the chunking changes.
func (ix *Index) CorpusVersion() string { return ix.version }

// Documents gives the ids of the indexed documents, sorted.
func (ix *Index) Documents() []string { return ix.documents }

// Chunks gives the number of indexed chunks.
func (ix *Index) Chunks() int { return len(ix.chunks) }

// Warnings names the files that were left out, and why.
func (ix *Index) Warnings() []string { return ix.warnings }

// Close frees the index. No search may follow.
func (ix *Index) Close() error {
	if err := ix.bleve.Close(); err != nil {
		return fmt.Errorf("close the index: %w", err)
	}
	return nil
}
