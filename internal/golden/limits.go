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
	// maxValues bounds the values of one case, lists and maps and what is in them;
	// the limits above leave room for fewer.
	maxValues  = 100_000
	maxColumns = 1_000
	// maxYAMLMarks bounds the values of a YAML file before the library reads it,
	// which takes some 400 bytes a value. A set of 100,000 cases has about a million.
	maxYAMLMarks = 4_000_000

	// maxProblems bounds how many problems are kept; the rest are counted.
	maxProblems = 1_000
	// maxListed bounds how many problems an error's text lists.
	maxListed = 20
	// maxWarnings bounds how many different warnings are kept.
	maxWarnings = 100
	// maxNamedCases bounds how many cases one warning names beside its first.
	maxNamedCases = 5
)
