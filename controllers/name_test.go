package controllers_test

import (
	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
)

func nameOf(s *v1alpha1.EvalSuite, trigger, what string) string {
	return schedule.RunName(s.Name, string(s.UID), trigger, what)
}
