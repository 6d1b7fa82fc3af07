package goldentool

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

const (
	// maxConfigMapBytes is what Kubernetes allows the values of a ConfigMap to have.
	maxConfigMapBytes = 1 << 20
	// MaxAppliedBytes is what a manifest may have for kubectl apply to keep it in an
	// annotation.
	MaxAppliedBytes = 256 << 10
)

// ConfigMap wraps a golden set into the manifest of a ConfigMap, packed where it
// would be too large otherwise. The namespace may be empty. The key names the
// format.
func ConfigMap(name, namespace string, format golden.Format, data []byte) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + scalar(name) + "\n")
	if namespace != "" {
		b.WriteString("  namespace: " + scalar(namespace) + "\n")
	}
	key := "golden." + string(format)
	if len(data) <= maxConfigMapBytes {
		b.WriteString("data:\n  " + key + ": |\n")
		for line := range strings.Lines(string(data)) {
			b.WriteString("    " + line)
		}
		return b.Bytes(), nil
	}
	packed, err := pack(data)
	if err != nil {
		return nil, err
	}
	// The limit is on what is stored, which is not base64.
	if len(packed) > maxConfigMapBytes {
		return nil, fmt.Errorf("the set has %d KiB, %d KiB packed, and a ConfigMap holds %d KiB: write a file, and serve it over spec.goldenSet.http, or spread it over several ConfigMaps",
			len(data)>>10, len(packed)>>10, maxConfigMapBytes>>10)
	}
	b.WriteString("binaryData:\n  " + key + ".gz: " + base64.StdEncoding.EncodeToString(packed) + "\n")
	return b.Bytes(), nil
}

func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = zw.Write(data)
	}
	if err == nil {
		err = zw.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("pack the golden set: %w", err)
	}
	return b.Bytes(), nil
}
