package main

// reviewed are files that somebody read because no machine could: their licences
// by the SHA-256 of their text. A changed text is to be read anew.
var reviewed = map[string]struct {
	file     string   // for whoever reads this
	licences []string // of what is linked; none where it is about something else
}{
	"f597097efe3d97021f89170746bd3a0fb9a8b6fb26b82043ed68a4e0283bee6c": {
		"modernc.org/libc LICENSE-3RD-PARTY.md: Go, musl and a list of people's names",
		[]string{"BSD-3-Clause", "MIT"},
	},
	"5ae5bee3072a841376451b48d8cfcec7188e10543926d5870828d36c8a750dc5": {
		"modernc.org/memory LICENSE-LOGO: where a picture comes from that is not linked",
		nil,
	},
	"f4a00ade8f4057ab0ea49097d9c459df8559fcf10ca78da0c950343fb7428d37": {
		"modernc.org/sqlite LICENSE-3RD-PARTY.md: the MPL in it is of modules that its section 3 says are compiled into nothing",
		[]string{"BSD-3-Clause", "MIT", "blessing"},
	},
	"8438c9c89b849131ead81d5435cb97fcf052df5b0b286dda8a2d4c29e6cb3fd0": {
		"modernc.org/sqlite LICENSE-SQLITE: the dedication of SQLite to the public domain",
		[]string{"blessing"},
	},
}
