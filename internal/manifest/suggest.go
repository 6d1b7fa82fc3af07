package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// suggestion names the known field that was probably meant, or where the field
// stands in the schema, if anywhere.
func suggestion(obj *unstructured.Unstructured, path string) string {
	schema, err := schemaOf(obj)
	if err != nil {
		return ""
	}
	steps := splitPath(path)
	if len(steps) == 0 {
		return ""
	}
	parent := schema.structural
	for _, step := range steps[:len(steps)-1] {
		if parent = child(parent, step); parent == nil {
			return ""
		}
	}
	known := make([]string, 0, len(parent.Properties))
	for name := range parent.Properties {
		known = append(known, name)
	}
	slices.Sort(known)
	if name := nearest(steps[len(steps)-1], known); name != "" {
		return fmt.Sprintf(": did you mean %s?", name)
	}
	if len(known) == 0 || len(steps) == 1 {
		return ""
	}
	return ": known here are " + strings.Join(known, ", ")
}

func child(s *structuralschema.Structural, step string) *structuralschema.Structural {
	if property, ok := s.Properties[step]; ok {
		return &property
	}
	if _, err := strconv.Atoi(step); err == nil && s.Items != nil {
		return s.Items
	}
	return nil
}

// nearest gives the known name that differs from the written one in case or in
// at most a third of its letters; "" where there is none.
func nearest(written string, known []string) string {
	best, bestDistance := "", len([]rune(written))/3+1
	for _, name := range known {
		if strings.EqualFold(name, written) {
			return name
		}
		if distance := editDistance(strings.ToLower(written), strings.ToLower(name)); distance < bestDistance {
			best, bestDistance = name, distance
		}
	}
	return best
}

// editDistance is Levenshtein's: insertions, deletions and substitutions.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j := range to {
			cost := 1
			if from[i] == to[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(to)]
}
