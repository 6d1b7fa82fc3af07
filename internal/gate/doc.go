// Package gate says whether a rollout may go on: every gate of a suite reads the
// same function of what the suite's status holds, of what runs now and of the
// time. It is pure: facts go in, an answer comes out; no clock, no I/O.
//
// An answer is for one key: evaluation digest, golden-set digest, revision,
// endpoint and corpus version. What was measured for another key answers
// nothing, so that a stale pass admits nothing. In doubt the answer is not Pass.
package gate
