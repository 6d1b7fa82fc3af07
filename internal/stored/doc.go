// Package stored gives runs of the history back as what they were: run
// documents, and sides of a comparison.
package stored
