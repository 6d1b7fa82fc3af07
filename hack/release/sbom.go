package main

import "context"

// sbom writes which modules a binary is made of, in CycloneDX's JSON. It is read
// from what Go writes into the binary, and has neither the time nor a serial
// number, which would be others every time. The licences are in the archive.
func (r *release) sbom(ctx context.Context, binary, file string) error {
	_, err := output(ctx, r.source, nil, r.cyclonedx, "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", r.version, "-output", file, binary)
	return err
}
