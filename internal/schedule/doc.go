// Package schedule says which runs of a suite are due, why, under which name
// and when to look again, and which of the waiting runs may start. It is pure:
// facts go in, a decision comes out; no clock, no I/O.
//
// What comes out depends on the facts alone, so that two operators, or one that
// was restarted anywhere between creating a run and writing the status, decide
// on the same names.
package schedule
