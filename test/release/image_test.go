//go:build e2e

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxImage is what the image may take, packed, in bytes: the binary is most of it.
const maxImage = 64 << 20

// descriptor is one of the OCI image format's: something else in the layout.
type descriptor struct {
	MediaType   string
	Digest      string
	Size        int64
	Platform    struct{ OS, Architecture string }
	Annotations map[string]string
}

// layout is an OCI layout that was read from a tar: contents by their paths.
type layout map[string][]byte

// blob is the content of a descriptor.
func (l layout) blob(t *testing.T, d descriptor) []byte {
	t.Helper()
	data, ok := l["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if !ok {
		t.Fatalf("the layout lacks %s", d.Digest)
	}
	return data
}

// decode reads the JSON that a descriptor leads to.
func (l layout) decode(t *testing.T, d descriptor, into any) {
	t.Helper()
	if err := json.Unmarshal(l.blob(t, d), into); err != nil {
		t.Fatalf("%s: %v", d.Digest, err)
	}
}

// platforms are those that the image is built for: both, unless IMAGE_PLATFORMS
// has fewer, for a machine that would have to compile everything for each.
func platforms() []string {
	if fewer := os.Getenv("IMAGE_PLATFORMS"); fewer != "" {
		return strings.Split(fewer, ",")
	}
	return []string{"linux/amd64", "linux/arm64"}
}

// buildImage builds the Dockerfile with BuildKit.
func buildImage(t *testing.T) layout {
	t.Helper()
	daemon, client := tool(t, "BUILDKITD_BIN"), tool(t, "BUILDCTL_BIN")
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("SKIPPED: BuildKit runs as root on Linux: the Dockerfile is not built")
	}
	for _, program := range []string{"runc", "busybox"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed: the Dockerfile is not built", program)
		}
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	command(t, root, []string{
		"BUILDKITD=" + daemon, "BUILDCTL=" + client, "VERSION=" + releaseVersion, "COMMIT=" + strings.Repeat("0123456789", 4), "DATE=" + committedUTC,
	}, "hack/image/build.sh", file, strings.Join(platforms(), ","))

	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	l := layout{}
	for archive := tar.NewReader(opened); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return l
		}
		if err != nil {
			t.Fatal(err)
		}
		if l[path.Clean(header.Name)], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func TestImage(t *testing.T) {
	l := buildImage(t)
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(l["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	for len(index.Manifests) == 1 { // the index of the layout leads to that of the image
		top := index.Manifests[0]
		index.Manifests = nil
		l.decode(t, top, &index)
	}
	known := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	machines := map[string]elf.Machine{}
	for _, platform := range platforms() {
		machines[platform] = known[platform]
	}
	attested := 0
	for _, d := range index.Manifests {
		if d.Annotations["vnd.docker.reference.type"] == "attestation-manifest" {
			attested++
			checkProvenance(t, l, d)
			continue
		}
		platform := d.Platform.OS + "/" + d.Platform.Architecture
		machine, ok := machines[platform]
		if !ok {
			t.Errorf("an image for %s", platform)
			continue
		}
		delete(machines, platform)
		t.Run(d.Platform.Architecture, func(t *testing.T) { checkImage(t, l, d, machine) })
	}
	if len(machines) > 0 || attested != len(platforms()) {
		t.Errorf("no image for %v; %d images have a provenance", machines, attested)
	}
}

// checkImage looks at the image for one platform.
func checkImage(t *testing.T, l layout, d descriptor, machine elf.Machine) {
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	l.decode(t, d, &manifest)
	var config struct {
		Created string
		Config  struct {
			User       string
			Entrypoint []string
			Cmd        []string
			Labels     map[string]string
		}
	}
	l.decode(t, manifest.Config, &config)
	if c := config.Config; c.User != "65532:65532" || len(c.Cmd) != 0 {
		t.Errorf("user %q, arguments %q", c.User, c.Cmd)
	}
	if diff := cmp.Diff([]string{"/assay"}, config.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint (-want +got):\n%s", diff)
	}
	if config.Created != committedUTC {
		t.Errorf("created at %s, want at the commit's %s", config.Created, committedUTC)
	}
	labels := config.Config.Labels
	for name, want := range map[string]string{
		"title": "assay", "licenses": "Apache-2.0", "source": "https://github.com/assay-dev/assay",
		"version": releaseVersion, "revision": strings.Repeat("0123456789", 4), "created": committedUTC,
	} {
		if got := labels["org.opencontainers.image."+name]; got != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}

	files := map[string]member{}
	var size int64
	for _, layer := range manifest.Layers {
		size += layer.Size
		decompressor, err := gzip.NewReader(bytes.NewReader(l.blob(t, layer)))
		if err != nil {
			t.Fatal(err)
		}
		for archive := tar.NewReader(decompressor); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Typeflag == tar.TypeDir {
				continue
			}
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			files[path.Clean(header.Name)] = member{header.Mode, header.Linkname, text}
			if header.Mode&0o6022 != 0 || header.Mode&0o444 != 0o444 {
				t.Errorf("%s has the mode %o", header.Name, header.Mode)
			}
		}
	}
	if size > maxImage {
		t.Errorf("the image takes %d MiB, want at most %d", size>>20, int64(maxImage)>>20)
	}
	want := map[string]bool{"assay": true, "etc/ssl/certs/ca-certificates.crt": true, "licenses/LICENSE": true, "licenses/THIRD_PARTY_LICENSES": true}
	got := map[string]bool{}
	for name, file := range files {
		got[name] = len(file.text) > 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files that are not empty (-want +got):\n%s", diff)
	}
	program, err := elf.NewFile(bytes.NewReader(files["assay"].text))
	if err != nil {
		t.Fatal(err)
	}
	if program.Machine != machine {
		t.Errorf("the binary is for %s", program.Machine)
	}
	if libraries, _ := program.DynString(elf.DT_NEEDED); len(libraries) > 0 || program.Section(".interp") != nil {
		t.Errorf("the binary is not static: %q", libraries)
	}
	if d.Platform.Architecture == runtime.GOARCH {
		file := filepath.Join(t.TempDir(), "assay")
		if err := os.WriteFile(file, files["assay"].text, 0o755); err != nil {
			t.Fatal(err)
		}
		if got := command(t, ".", nil, file, "version"); !strings.HasPrefix(got, "assay "+releaseVersion+" (012345678901) ") {
			t.Errorf("assay version says %q", got)
		}
	}
}

// checkProvenance looks at how an image says that it was built.
func checkProvenance(t *testing.T, l layout, d descriptor) {
	t.Helper()
	var manifest struct{ Layers []descriptor }
	l.decode(t, d, &manifest)
	for _, layer := range manifest.Layers {
		if strings.HasPrefix(layer.Annotations["in-toto.io/predicate-type"], "https://slsa.dev/provenance/") {
			return
		}
	}
	t.Errorf("the attestation %s has no provenance", d.Digest)
}
