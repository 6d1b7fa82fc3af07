package supportbundle

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// safeEnv are the environment variables whose values are kept: none of them holds
// a credential, but for what scrub removes from a URL.
var safeEnv = map[string]bool{
	"GODEBUG": true, "GOGC": true, "GOMAXPROCS": true, "GOMEMLIMIT": true, "TZ": true,
	"POD_NAME": true, "POD_NAMESPACE": true, "NODE_NAME": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "NO_PROXY": true, "http_proxy": true, "https_proxy": true, "no_proxy": true,
	"KUBERNETES_SERVICE_HOST": true, "KUBERNETES_SERVICE_PORT": true,
	"OTEL_SDK_DISABLED": true, "OTEL_SERVICE_NAME": true, "OTEL_TRACES_EXPORTER": true, "OTEL_TRACES_SAMPLER": true, "OTEL_TRACES_SAMPLER_ARG": true,
	"OTEL_EXPORTER_OTLP_ENDPOINT": true, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": true, "OTEL_EXPORTER_OTLP_PROTOCOL": true,
}

// historyNames hold the history's DSN: of a database, only its kind is kept.
var historyNames = map[string]bool{"--history": true, "-history": true, "ASSAY_HISTORY": true}

// maxAnnotation is how long an annotation may be: longer ones are copies of
// manifests and other tools' notes.
const maxAnnotation = 256

// clean removes from an object what may be a secret, in place, and tells found of
// every value that is certain to be one, so that it can be removed elsewhere too.
func clean(o *unstructured.Unstructured, found func(string)) {
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	c := cleaner{found: found}
	o.Object = c.fields(o.Object, false)
}

type cleaner struct{ found func(string) }

// drop takes a value out of the object. plain ones, such as true or production, are
// not looked for elsewhere.
func (c cleaner) drop(value string, certain bool) string {
	if len(value) >= minSecret && (certain || !plainWord.MatchString(value)) {
		c.found(value)
	}
	// Authorization=Bearer abc,x-key=def holds two more.
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,;&\t\r\n", r) }) {
		if _, of, ok := strings.Cut(part, "="); ok {
			part = of
		}
		part = strings.Trim(part, `"'`)
		for _, spelled := range []string{part, unescaped(part)} {
			if len(spelled) >= minSecret && spelled != value && !plainWord.MatchString(spelled) {
				c.found(spelled)
			}
		}
	}
	return removed
}

// minSecret is how long a value is that is looked for elsewhere.
const minSecret = 6

func unescaped(s string) string {
	plain, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	_, token, found := strings.Cut(plain, " ") // Bearer …
	if found {
		return token
	}
	return plain
}

var plainWord = regexp.MustCompile(`^(?:[a-z]+(?:[-./_][a-z]+)*|[0-9.]+|[a-z]+/[a-z0-9.+-]+)$`)

// value cleans one value, which has a name.
func (c cleaner) value(name string, v any) any {
	switch v := v.(type) {
	case string:
		if sensitiveName.MatchString(name) {
			return c.drop(v, true)
		}
		for _, credential := range credentialsOf(v) {
			c.drop(credential, false)
		}
		return scrub(v)
	case map[string]any:
		if name == "annotations" {
			return c.annotations(v)
		}
		return c.fields(v, isReference(name))
	case []any:
		switch name {
		case "headers", "httpHeaders":
			return c.named(v, func(string) bool { return false })
		case "env":
			return c.named(v, func(name string) bool { return safeEnv[name] || historyNames[name] })
		case "args", "command":
			return c.arguments(v)
		}
		return c.list(name, v)
	}
	return v
}

// isReference says whether a field names an object and a key in it: what they are
// called is no secret.
func isReference(name string) bool {
	return strings.HasSuffix(name, "Ref") || name == "configMap" || name == "secret"
}

// fields cleans a map; the strings of a reference are kept as they are.
func (c cleaner) fields(m map[string]any, reference bool) map[string]any {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, text := m[name].(string); text && reference {
			continue
		}
		m[name] = c.value(name, m[name])
	}
	return m
}

func (c cleaner) list(name string, list []any) []any {
	for i := range list {
		list[i] = c.value(name, list[i])
	}
	return list
}

func (c cleaner) annotations(m map[string]any) map[string]any {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		text, _ := m[name].(string)
		switch {
		case strings.HasSuffix(name, "last-applied-configuration"), len(text) > maxAnnotation, strings.HasPrefix(strings.TrimSpace(text), "{"):
			m[name] = fmt.Sprintf("[removed: %d bytes]", len(text))
		default:
			m[name] = c.value(name, text)
		}
	}
	return m
}

// named cleans a list of names with values, keeping the values of the names that
// are known to be safe.
func (c cleaner) named(list []any, safe func(name string) bool) []any {
	for i := range list {
		entry, ok := list[i].(map[string]any)
		if !ok {
			list[i] = removed
			continue
		}
		name, _ := entry["name"].(string)
		for field, v := range entry {
			text, isText := v.(string)
			switch {
			case field == "name":
			case field == "value" && isText && historyNames[name]:
				entry[field] = c.history(text)
			case field == "value" && isText && !safe(name):
				entry[field] = c.drop(text, sensitiveName.MatchString(name))
			default:
				entry[field] = c.value(field, v)
			}
		}
	}
	return list
}

// arguments cleans a command line, where a value may stand behind its flag.
func (c cleaner) arguments(list []any) []any {
	flag := ""
	for i := range list {
		text, ok := list[i].(string)
		if !ok {
			continue
		}
		name, value, joined := strings.Cut(text, "=")
		switch {
		case historyNames[flag]:
			list[i] = c.history(text)
		case sensitiveName.MatchString(flag) && !strings.HasPrefix(text, "-"):
			list[i] = c.drop(text, true)
		case joined && historyNames[name]:
			list[i] = name + "=" + c.history(value)
		case joined && strings.HasPrefix(name, "-") && sensitiveName.MatchString(name):
			list[i] = name + "=" + c.drop(value, true)
		default:
			list[i] = c.value("", text)
		}
		flag = ""
		if strings.HasPrefix(text, "-") && !joined {
			flag = text
		}
	}
	return list
}

// history keeps the kind of the store, and the file of SQLite.
func (c cleaner) history(dsn string) string {
	for _, credential := range credentialsOf(dsn) {
		c.drop(credential, true)
	}
	scheme, _, ok := strings.Cut(dsn, "://")
	switch {
	case dsn == "":
		return dsn
	case ok && strings.EqualFold(scheme, "sqlite"):
		return scrub(dsn)
	case ok && plainWord.MatchString(scheme):
		return scheme + "://" + removed
	}
	return removed
}

// texts applies a function to every string of an object, its names included.
func texts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[change(name)] = texts(value, change)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = texts(v[i], change)
		}
		return out
	}
	return v
}
