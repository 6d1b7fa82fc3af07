package controllers

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/assay-dev/assay/internal/status"
)

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
	// maxNote is how many bytes an Event's note may hold.
	maxNote = 1024
)

// oneLine puts a list of several lines into one, as tables of Events show it.
var oneLine = strings.NewReplacer(":\n", ": ", "\n", "; ")

// tell records an Event, its note one line and cut to what the API takes.
func tell(recorder events.EventRecorder, regarding, related runtime.Object, kind, reason, action, format string, args ...any) {
	note := status.Truncate(oneLine.Replace(fmt.Sprintf(format, args...)), maxNote)
	if isNil(related) {
		related = nil
	}
	recorder.Eventf(regarding, related, kind, reason, action, "%s", note)
}
