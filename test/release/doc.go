// Package release tests what makes releases: the archives, the image, and the
// check for known vulnerabilities. The tests that build are behind the tag e2e.
package release
