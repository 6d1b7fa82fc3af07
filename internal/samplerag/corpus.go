package samplerag

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const maxFileBytes = 8 << 20

// corpus is what was read: documents sorted by id, each once.
type corpus struct {
	documents []document
	warnings  []string
}

func (c *corpus) version(chunkRunes int) string {
	h := sha256.New()
	fmt.Fprintf(h, "chunks of %d\n", chunkRunes)
	for _, d := range c.documents {
		fmt.Fprintf(h, "%q %d\n%s\n", d.id, len(d.text), d.text)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func isMarkdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown"
}

func isText(name string) bool {
	return isMarkdown(name) || strings.ToLower(path.Ext(name)) == ".txt"
}

func readCorpus(ctx context.Context, paths []string, opts Options) (*corpus, error) {
	if len(paths) == 0 {
		return nil, errors.New("nothing to index: name a folder or a file of Markdown or text")
	}
	r := corpusReader{opts: opts, seen: map[string]bool{}}
	if err := r.checkExclude(); err != nil {
		return nil, err
	}
	for _, p := range paths {
		if err := r.readPath(ctx, p); err != nil {
			return nil, fmt.Errorf("read %s: %w", p, err)
		}
	}
	if len(r.corpus.documents) == 0 {
		return nil, fmt.Errorf("nothing to index in %s: put Markdown or text files (.md, .markdown, .txt; UTF-8) there, or name another folder or file%s",
			strings.Join(paths, ", "), r.warningNote())
	}
	slices.SortFunc(r.corpus.documents, func(a, b document) int { return strings.Compare(a.id, b.id) })
	return &r.corpus, nil
}

type corpusReader struct {
	opts   Options
	corpus corpus
	seen   map[string]bool
}

func (r *corpusReader) warn(id, format string, args ...any) {
	r.corpus.warnings = append(r.corpus.warnings, id+": left out: "+fmt.Sprintf(format, args...))
}

func (r *corpusReader) warningNote() string {
	if len(r.corpus.warnings) == 0 {
		return ""
	}
	return " (" + strings.Join(r.corpus.warnings, "; ") + ")"
}

func (r *corpusReader) readPath(ctx context.Context, name string) error {
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(r.opts.Root, name)
	}
	info, err := os.Stat(full)
	if err != nil {
		return err
	}
	dir, file := full, "."
	if !info.IsDir() {
		dir, file = filepath.Split(full)
		if dir == "" {
			dir = "."
		}
	}
	// os.Root refuses links that lead out of the folder.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if !info.IsDir() {
		return r.readFile(root, file, r.id(full))
	}
	prefix := r.id(full)
	return fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		return r.visit(root, p, path.Join(prefix, p), e)
	})
}

// visit reads one entry of a folder. Hidden entries are passed over, which also
// passes over the inner folders of a mounted ConfigMap, whose files are links.
func (r *corpusReader) visit(root *os.Root, p, id string, e fs.DirEntry) error {
	if p == "." {
		return nil
	}
	if strings.HasPrefix(path.Base(p), ".") || r.excluded(id) {
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if e.IsDir() || !isText(p) {
		return nil
	}
	return r.readFile(root, p, id)
}

func (r *corpusReader) readFile(root *os.Root, name, id string) error {
	if r.seen[id] || r.excluded(id) {
		return nil
	}
	r.seen[id] = true
	// A link that leads out of the folder or nowhere fails here.
	info, err := root.Stat(name)
	if err != nil {
		r.warn(id, "%v", reason(err))
		return nil
	}
	if !info.Mode().IsRegular() {
		r.warn(id, "it is no regular file")
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		r.warn(id, "%v", reason(err))
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return err
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	switch {
	case len(data) > maxFileBytes:
		r.warn(id, "it is larger than %d MiB", maxFileBytes>>20)
	case !utf8.ValidString(text):
		r.warn(id, "it is not UTF-8: convert it, for example with iconv -t UTF-8")
	case strings.TrimSpace(text) == "":
		r.warn(id, "it is empty")
	default:
		r.corpus.documents = append(r.corpus.documents, document{id: id, text: norm.NFC.String(text)})
	}
	return nil
}

// reason is why a file could not be read, without the name of the system call
// and the path, which the warning gives already.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// id is the path below the root where it lies there, else the path as given.
func (r *corpusReader) id(full string) string {
	root := r.opts.Root
	if root == "" {
		root = "."
	}
	absRoot, err1 := filepath.Abs(root)
	abs, err2 := filepath.Abs(full)
	if err1 == nil && err2 == nil {
		if rel, err := filepath.Rel(absRoot, abs); err == nil && filepath.IsLocal(rel) {
			full = rel
		}
	}
	return norm.NFC.String(filepath.ToSlash(filepath.Clean(full)))
}

func (r *corpusReader) checkExclude() error {
	for _, pattern := range r.opts.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("exclude pattern %q: %w: write a path such as docs/adr, or a pattern such as docs/*.txt", pattern, err)
		}
	}
	return nil
}

// excluded says whether a pattern names the document or a folder above it.
func (r *corpusReader) excluded(id string) bool {
	for _, pattern := range r.opts.Exclude {
		pattern = path.Clean(pattern)
		for p := id; p != "." && p != "/"; p = path.Dir(p) {
			if ok, err := path.Match(pattern, p); err == nil && ok {
				return true
			}
		}
	}
	return false
}
