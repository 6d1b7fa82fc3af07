// Package controllers has the two reconcilers. That of EvalSuites decides what
// is due and creates runs; that of EvalRuns admits them, one a suite at a time,
// has them evaluated and writes down what came of it.
package controllers
