package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
)

// maxSuiteInName is how much of a suite's name its runs' names begin with.
const maxSuiteInName = 40

// separator joins what is hashed; no part of it can contain one.
const separator = "\x00"

// RunName returns the name of the run that a trigger starts: at most 40
// characters of the suite's name and ten hexadecimal digits of the SHA-256 of
// suite UID, trigger and what triggered it. What decides on the same run so
// computes the same name, and creating it twice is impossible.
func RunName(suiteName, suiteUID, trigger, what string) string {
	prefix := strings.TrimRight(suiteName[:min(len(suiteName), maxSuiteInName)], ".-")
	sum := sha256.Sum256([]byte(strings.Join([]string{suiteUID, trigger, what}, separator)))
	return prefix + "-" + hex.EncodeToString(sum[:5])
}

// Offset returns how much later than its slots a suite starts: whole seconds
// below jitter, the same every time for one suite.
func Offset(suiteUID string, jitter time.Duration) time.Duration {
	seconds := uint64(max(jitter, 0) / time.Second)
	if seconds == 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(suiteUID))
	return time.Duration(binary.BigEndian.Uint64(sum[:8])%seconds) * time.Second
}
