package golden

// Limits of a golden set. A set is what a namespaced user writes and the
// operator holds in memory, so everything that can grow has a bound.
const (
	maxCases         = 100_000
	maxQuestionBytes = 32 << 10
	// maxUnpackedBytes bounds what all gzip files of a set unpack to together.
	maxUnpackedBytes = 64 << 20
	// maxExpandedBytes bounds what YAML aliases add to a file; a value counts
	// its text and what it takes to hold it.
	maxExpandedBytes  = 64 << 20
	maxIDBytes        = 1 << 10
	maxRelevant       = 10_000
	maxReferenceBytes = 256 << 10
	maxTags           = 64
	maxTagChars       = 128
	maxTurns          = 1_000
	maxHistoryBytes   = 256 << 10
	maxMetadataBytes  = 64 << 10
	// maxDepth bounds the nesting of metadata.
	maxDepth = 32

	// maxProblems bounds how many problems are kept; the rest are counted.
	maxProblems = 1_000
	// maxListed bounds how many problems an error's text lists.
	maxListed = 20
	// maxWarnings bounds how many different warnings are kept.
	maxWarnings = 100
	// maxNamedCases bounds how many cases one warning names beside its first.
	maxNamedCases = 5
)
