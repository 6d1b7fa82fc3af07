package judge

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// EstimateTokens gives roughly how many tokens a text has, for plans: a token
// for every four bytes of ASCII, and one for every other character. It is
// within a factor of two for prose and code; for Korean it is rather too high,
// since newer tokenisers join syllables.
func EstimateTokens(text string) int64 {
	var ascii, other int64
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// EstimateOverhead gives roughly how many tokens a verdict and a scoring of
// contexts take for what is the same in every case: instructions, rules, the
// usual reply. Question, reference, contexts and answer come on top.
func EstimateOverhead(prompt string) (verdict, relevance int64) {
	const reply = 100
	estimate := func(p *promptParts) int64 {
		r, _ := p.request(0, func() string { return "ABCDEFGHIJKLMNOPQRSTUVWXYZ" })
		return EstimateTokens(r.System) + EstimateTokens(r.User) + EstimateTokens(string(r.Schema.JSON)) + reply
	}
	return estimate(verdictPrompt(prompt, &Input{})), estimate(relevancePrompt(prompt, "", nil, nil))
}

// fewestTokens gives a number of tokens that no usual tokeniser gets below, for
// none joins two words. A word counts once, and once more for every four of its
// characters that are Korean, Chinese or Japanese; what has neither letters nor
// digits counts nothing, since a run of spaces or dashes may be one token.
func fewestTokens(text string) int64 {
	var count, wide int64
	word := false
	end := func() {
		if word {
			count += max(1, (wide+3)/4)
		}
		word, wide = false, 0
	}
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			end()
		case unicode.IsLetter(r), unicode.IsDigit(r):
			word = true
			if isCJK(r) {
				wide++
			}
		}
	}
	end()
	return count
}

// minCutTokens is how long a prompt must be before its length is checked. No
// model has a shorter window.
const minCutTokens = 256

// silentCut is an error where the server read far fewer tokens than it was
// sent: Ollama drops what does not fit its window, half of the prompt or more,
// and says nothing. Only the user's message is counted, for a server may leave
// the instructions that it remembers out of its count; and a server that counts
// nothing says nothing.
func silentCut(user string, reported int64) error {
	fewest := fewestTokens(user)
	// Another quarter, for tokenisers that do join words.
	if reported <= 0 || fewest < minCutTokens || reported >= fewest*3/4 {
		return nil
	}
	return &Error{Outcome: ContextTooLong, Message: fmt.Sprintf(
		"the judge's server read %d tokens of a prompt of at least %d, so it cut the prompt and judged the rest: give the model a longer context window (num_ctx or OLLAMA_CONTEXT_LENGTH in Ollama), or lower answer.contexts",
		reported, fewest)}
}
