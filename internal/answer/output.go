package answer

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/assay-dev/assay/internal/mapping"
)

const (
	// maxContexts bounds the contexts of a reply: the most that can be sent.
	maxContexts = 1000
	// maxText bounds answer and contexts together, in bytes. A body is not larger,
	// but a mapping can repeat what stands in it.
	maxText = 8 << 20
)

// readOutput reads what an output mapping gave. Contexts is nil where the mapping
// gave none, and empty where it gave an empty list. Its error goes on from
// "answer.output:".
func readOutput(v ref.Val) (*Reply, error) {
	output, ok := v.(traits.Mapper)
	if !ok {
		return nil, fmt.Errorf("it gave %s, but must give %s", mapping.TypeName(v), outputMapping.Gives)
	}
	text, found := mapping.Field(output, "answer")
	if !found {
		return nil, errors.New(`it gave no "answer": let the service reply {"answer": "…"}, or say in answer.output where the text stands, for example {"answer": response.text}`)
	}
	s, ok := text.(types.String)
	if !ok {
		return nil, fmt.Errorf(`it gave an "answer" that is %s, but must be a string: say in answer.output where the text stands`, mapping.TypeName(text))
	}
	reply := &Reply{Answer: string(s)}
	if contexts, ok := mapping.Field(output, "contexts"); ok {
		var err error
		if reply.Contexts, err = readContexts(contexts); err != nil {
			return nil, err
		}
	}
	size := len(reply.Answer)
	for _, c := range reply.Contexts {
		size += len(c)
	}
	if size > maxText {
		return nil, fmt.Errorf("it gave an answer and contexts of %d MiB, but at most %d are read", size>>20, maxText>>20)
	}
	return reply, nil
}

func readContexts(v ref.Val) ([]string, error) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf(`it gave "contexts" that are %s, but must be a list of strings: leave them out, or give a list`, mapping.TypeName(v))
	}
	if n := mapping.Size(list); n > maxContexts {
		return nil, fmt.Errorf("it gave %d contexts, but at most %d are read", n, maxContexts)
	}
	contexts := make([]string, 0, mapping.Size(list))
	for it := list.Iterator(); it.HasNext() == types.True; {
		item := mapping.Unwrap(it.Next())
		text, ok := item.(types.String)
		if !ok {
			return nil, fmt.Errorf(`it gave "contexts" whose item %d is %s, but must be a string: map each to its text, for example "contexts": response.contexts.map(c, c.text)`, len(contexts)+1, mapping.TypeName(item))
		}
		contexts = append(contexts, string(text))
	}
	return contexts, nil
}
