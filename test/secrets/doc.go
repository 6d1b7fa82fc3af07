// Package secrets proves that no secret shows: it runs the operator and the
// command line against services that repeat whatever they are given, and looks
// for every secret in all that comes out.
package secrets
