// Package connect holds the pages on connecting a store to what they say: every
// manifest in them is run, with the command line, against the store or against a
// stand-in that takes and gives what the store's vendor documents.
//
// The stand-ins are strict: a field that the vendor does not document fails the
// test. With the build tag e2e they are held against the vendors' own clients
// and types, and the real parts that npm has are run: pgvector (in PGlite),
// LangChain and LlamaIndex.
package connect
