package judge

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// abstentions are the phrases by which an answer declines. English ones begin
// at a word; Korean ones are compared without spaces, which people set freely.
var abstentions = struct{ english, korean []string }{
	english: []string{
		"i don't know", "i do not know", "we don't know", "we do not know",
		"i don't have information", "i do not have information", "i don't have any information", "i do not have any information",
		"i don't have enough information", "i do not have enough information",
		"i can't answer", "i cannot answer", "i am unable to answer", "i'm unable to answer",
		"i can't find", "i cannot find", "i couldn't find", "i could not find", "i did not find", "i didn't find",
		"i was unable to find", "i was not able to find", "no answer was found", "no answer found", "no relevant information",
		"there is no information", "there is not enough information", "there isn't enough information",
		"not enough information", "insufficient information",
		"the context does not", "the context doesn't", "the contexts do not", "the contexts don't",
		"the provided context does not", "the provided context doesn't", "the provided contexts do not", "the provided contexts don't",
		"the documents do not", "the documents don't", "the provided documents do not", "the provided documents don't",
		"is not mentioned in the", "is not in the documents", "is not in the context",
	},
	korean: []string{
		"모르겠습니다", "모르겠어요", "모릅니다", "알 수 없습니다", "알 수 없어요", "알 수 없다",
		"찾을 수 없습니다", "찾을 수 없어요", "찾을 수 없었습니다", "찾지 못했습니다", "찾지 못했어요",
		"정보가 없습니다", "정보가 없어요", "정보가 부족합니다", "정보가 부족하여", "내용이 없습니다", "내용이 없어요",
		"답변할 수 없습니다", "답변드릴 수 없습니다", "답변하기 어렵습니다", "답변드리기 어렵습니다", "답할 수 없습니다",
		"확인할 수 없습니다", "확인되지 않습니다", "문서에 없습니다", "문서에 나와 있지 않습니다", "문서에 언급되어 있지 않습니다",
		"언급되어 있지 않습니다", "나와 있지 않습니다",
	},
}

// abstains says whether an answer declines: its first sentence has one of the
// phrases.
func abstains(answer string) bool {
	first := strings.ToLower(firstSentence(norm.NFKC.String(answer)))
	english := " " + strings.Join(strings.FieldsFunc(strings.ReplaceAll(first, "’", "'"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && r != '\''
	}), " ")
	for _, phrase := range abstentions.english {
		if strings.Contains(english, " "+phrase) {
			return true
		}
	}
	korean := withoutSpaces(first)
	for _, phrase := range abstentions.korean {
		if strings.Contains(korean, withoutSpaces(phrase)) {
			return true
		}
	}
	return false
}

// firstSentence gives a text up to a full stop with white space behind it, or
// the end of its first line with text.
func firstSentence(s string) string {
	s = strings.TrimSpace(s)
	for i, r := range s {
		switch r {
		case '\n', '。':
			return s[:i]
		case '.', '!', '?':
			if rest := s[i+1:]; rest == "" || strings.IndexAny(rest[:1], " \t\r\n") == 0 {
				return s[:i]
			}
		}
	}
	return s
}

func withoutSpaces(s string) string { return strings.Join(strings.Fields(s), "") }
