package gates_test

import (
	"encoding/json"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// suiteStates are suites as users meet them, and what tools should say of them.
var suiteStates = []struct {
	name, object string
	argo, flux   string
}{
	{"never looked at", `{"metadata": {"generation": 1}, "status": {"observedGeneration": -1}}`, "Progressing", "inProgress"},
	{"without status", `{"metadata": {"generation": 1}}`, "Progressing", "inProgress"},
	{"an older generation", suiteState(3, 2, "True", "Passed", ""), "Progressing", "inProgress"},
	{"passing", suiteState(2, 2, "True", "Passed", ""), "Healthy", "current"},
	{"a regression", suiteState(2, 2, "False", "ObjectivesMissed", ""), "Degraded", "failed"},
	{"not evaluated", suiteState(2, 2, "Unknown", "NotYetEvaluated", ""), "Progressing", "inProgress"},
	{"another revision", suiteState(2, 2, "Unknown", "RevisionNotEvaluated", ""), "Progressing", "inProgress"},
	{"expired", suiteState(2, 2, "Unknown", "Expired", ""), "Degraded", "failed"},
	{"undecided", suiteState(2, 2, "Unknown", "Inconclusive", ""), "Degraded", "failed"},
	{"nothing could be scored", suiteState(2, 2, "Unknown", "RunError", ""), "Degraded", "failed"},
	{"no objectives", suiteState(2, 2, "Unknown", "NoObjectives", ""), "Degraded", "failed"},
	{"stalled", suiteState(2, 2, "Unknown", "NotYetEvaluated", "Stalled"), "Degraded", "failed"},
	{"suspended before its first run", `{"metadata": {"generation": 2}, "spec": {"suspend": true}, "status": {"observedGeneration": 2, "conditions": [
		{"type": "Passing", "status": "Unknown", "reason": "NotYetEvaluated", "message": "m"}]}}`, "Suspended", "inProgress"},
}

func suiteState(generation, observed int, passing, reason, stalled string) string {
	conditions := []map[string]any{
		{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "m"},
		{"type": "Stalled", "status": map[bool]string{true: "True", false: "False"}[stalled != ""], "reason": "InvalidMapping", "message": "m"},
		{"type": "Passing", "status": passing, "reason": reason, "message": "m"},
	}
	text, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{"generation": generation},
		"spec":     map[string]any{},
		"status":   map[string]any{"observedGeneration": observed, "conditions": conditions},
	})
	return string(text)
}

func TestArgoCDHealthOfSuites(t *testing.T) {
	script := healthScript(t, "resource.customizations.health.assay.dev_EvalSuite")
	for _, tt := range suiteStates {
		t.Run(tt.name, func(t *testing.T) {
			if status, message := health(t, script, tt.object); status != tt.argo || message == "" {
				t.Errorf("it is %s (%s), want %s", status, message, tt.argo)
			}
		})
	}
}

func TestArgoCDHealthOfRuns(t *testing.T) {
	script := healthScript(t, "resource.customizations.health.assay.dev_EvalRun")
	for verdict, want := range map[string]string{
		`{}`:                                     "Progressing",
		`{"status": {"progressText": "57/120"}}`: "Progressing",
		`{"status": {"verdict": "Passed", "reason": "ObjectivesMet", "message": "m"}}`:   "Healthy",
		`{"status": {"verdict": "Failed", "reason": "R", "message": "m"}}`:               "Degraded",
		`{"status": {"verdict": "Inconclusive", "reason": "QueueFull", "message": "m"}}`: "Degraded",
		`{"status": {"verdict": "Error", "reason": "R", "message": "m"}}`:                "Degraded",
	} {
		if status, message := health(t, script, verdict); status != want || message == "" {
			t.Errorf("%s is %s (%s), want %s", verdict, status, message, want)
		}
	}
}

func healthScript(t *testing.T, key string) string {
	t.Helper()
	script, ok, err := unstructured.NestedString(sample(t, "argocd-health.yaml")[0].Object, "data", key)
	if err != nil || !ok {
		t.Fatalf("%s: %t, %v", key, ok, err)
	}
	return script
}

// health runs a script as Argo CD does: obj is the object, a table comes back.
func health(t *testing.T, script, object string) (status, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(lib.open), NRet: 0, Protect: true}, lua.LString(lib.name)); err != nil {
			t.Fatal(err)
		}
	}
	var value any
	if err := json.Unmarshal([]byte(object), &value); err != nil {
		t.Fatal(err)
	}
	state.SetGlobal("obj", toLua(state, value))
	if err := state.DoString(script); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("%s gives no table", object)
	}
	return table.RawGetString("status").String(), table.RawGetString("message").String()
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, item := range v {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(toLua(state, item))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}

// Flux asks inProgress, failed and current in this order, and takes the first
// that is true.
func TestFluxHealthChecks(t *testing.T) {
	list, ok, err := unstructured.NestedSlice(sample(t, "flux-kustomization.yaml")[0].Object, "spec", "healthCheckExprs")
	if err != nil || !ok || len(list) != 1 {
		t.Fatalf("healthCheckExprs: %t, %v", ok, err)
	}
	checks := list[0].(map[string]any)
	programs := map[string]cel.Program{}
	env, err := cel.NewEnv(cel.OptionalTypes(), ext.Strings(), cel.HomogeneousAggregateLiterals(),
		cel.Variable("metadata", cel.DynType), cel.Variable("spec", cel.DynType), cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inProgress", "failed", "current"} {
		ast, issues := env.Compile(checks[name].(string))
		if issues.Err() != nil {
			t.Fatalf("%s: %v", name, issues.Err())
		}
		if programs[name], err = env.Program(ast); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, tt := range suiteStates {
		t.Run(tt.name, func(t *testing.T) {
			object := map[string]any{}
			if err := json.Unmarshal([]byte(tt.object), &object); err != nil {
				t.Fatal(err)
			}
			if object["status"] == nil {
				object["status"] = map[string]any{} // Flux takes what has none for in progress
			}
			got := "none"
			for _, name := range []string{"inProgress", "failed", "current"} {
				out, _, err := programs[name].Eval(object)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if out.Value() == true {
					got = name
					break
				}
			}
			if got != tt.flux {
				t.Errorf("it is %s, want %s", got, tt.flux)
			}
		})
	}
}
