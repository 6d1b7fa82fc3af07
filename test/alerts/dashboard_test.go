package alerts_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what these tests look at in charts/assay/files/dashboard.json.
type dashboard struct {
	ID            *int    `json:"id"`
	UID           string  `json:"uid"`
	Title         string  `json:"title"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type variable struct {
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Query      json.RawMessage `json:"query"`
	Datasource *source         `json:"datasource"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type panel struct {
	ID          int     `json:"id"`
	Type        string  `json:"type"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Datasource  *source `json:"datasource"`
	GridPos     grid    `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
		Overrides []struct {
			Matcher struct {
				ID      string `json:"id"`
				Options string `json:"options"`
			} `json:"matcher"`
		} `json:"overrides"`
	} `json:"fieldConfig"`
	Transformations []struct {
		ID      string `json:"id"`
		Options struct {
			RenameByName map[string]string `json:"renameByName"`
		} `json:"options"`
	} `json:"transformations"`
	Targets []struct {
		RefID        string  `json:"refId"`
		Expr         string  `json:"expr"`
		LegendFormat string  `json:"legendFormat"`
		Datasource   *source `json:"datasource"`
		Instant      bool    `json:"instant"`
		Range        bool    `json:"range"`
	} `json:"targets"`
}

type grid struct{ X, Y, W, H int }

func (g grid) overlaps(o grid) bool {
	return g.X < o.X+o.W && o.X < g.X+g.W && g.Y < o.Y+o.H && o.Y < g.Y+g.H
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal(read(t, "charts/assay/files/dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) == 0 {
		t.Fatal("the dashboard has no panel")
	}
	return d
}

// chosen is the data source that the dashboard's variable names.
var chosen = source{Type: "prometheus", UID: "${datasource}"}

func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	if d.ID != nil || d.UID == "" || d.Title == "" {
		t.Errorf("id %v, uid %q, title %q: want no id, which is a database's, and the others", d.ID, d.UID, d.Title)
	}
	if d.SchemaVersion < 42 {
		t.Errorf("the schema version is %d, want 42 (Grafana 12) or later", d.SchemaVersion)
	}
	ids := map[int]string{}
	for i, p := range d.Panels {
		if other, taken := ids[p.ID]; taken || p.ID <= 0 {
			t.Errorf("%s has the id %d, as %q", p.Title, p.ID, other)
		}
		ids[p.ID] = p.Title
		if g := p.GridPos; g.X < 0 || g.Y < 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > 24 {
			t.Errorf("%s does not fit into the grid: %+v", p.Title, g)
		}
		for _, other := range d.Panels[:i] {
			if p.GridPos.overlaps(other.GridPos) {
				t.Errorf("%s lies over %s", p.Title, other.Title)
			}
		}
		if p.Type != "row" {
			t.Run(p.Title, func(t *testing.T) { checkPanel(t, d, p) })
		}
	}
	if first := d.Panels[0]; first.Type != "row" {
		t.Errorf("it begins with a %s, want a row", first.Type)
	}
}

var (
	// variableName finds $name and ${name}.
	variableName = regexp.MustCompile(`\$\{?([a-zA-Z_]+)`)
	legendLabel  = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

func checkPanel(t *testing.T, d dashboard, p panel) {
	t.Helper()
	if p.Title == "" || !strings.HasSuffix(p.Description, ".") {
		t.Errorf("title %q, description %q: want both, and a sentence", p.Title, p.Description)
	}
	if p.FieldConfig.Defaults.Unit == "" {
		t.Error("there is no unit")
	}
	if p.Datasource == nil || *p.Datasource != chosen {
		t.Errorf("the data source is %+v, want %+v", p.Datasource, chosen)
	}
	if len(p.Targets) == 0 {
		t.Error("nothing is asked for")
	}
	refs := map[string]bool{}
	for _, target := range p.Targets {
		if target.RefID == "" || refs[target.RefID] {
			t.Errorf("refId %q is empty, or there twice", target.RefID)
		}
		refs[target.RefID] = true
		if target.Datasource == nil || *target.Datasource != chosen {
			t.Errorf("%s: the data source is %+v, want %+v", target.RefID, target.Datasource, chosen)
		}
		if target.Expr == "" || target.Instant == target.Range {
			t.Errorf("%s: query %q, instant %t, range %t; want a query, and one of both", target.RefID, target.Expr, target.Instant, target.Range)
		}
		checkSeries(t, target.Expr)
		for _, m := range variableName.FindAllStringSubmatch(target.Expr+p.Title, -1) {
			if !strings.HasPrefix(m[1], "__") && !slices.ContainsFunc(d.Templating.List, func(v variable) bool { return v.Name == m[1] }) {
				t.Errorf("%s: there is no variable %s", target.RefID, m[1])
			}
		}
		for _, m := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
			if !regexp.MustCompile(`(by|on) \([^)]*\b` + m[1] + `\b`).MatchString(target.Expr) {
				t.Errorf("%s: the legend has %s, which the query does not keep: %s", target.RefID, m[1], target.Expr)
			}
		}
	}
	for _, transformation := range p.Transformations {
		for from := range transformation.Options.RenameByName {
			if ref, found := strings.CutPrefix(from, "Value #"); found && !refs[ref] {
				t.Errorf("%s is renamed, and nothing is %s", from, ref)
			}
		}
	}
	for _, override := range p.FieldConfig.Overrides {
		if !renamed(p, override.Matcher.Options) {
			t.Errorf("an override is for %q, which no column is called", override.Matcher.Options)
		}
	}
}

// renamed says whether a column of the panel's table is called so.
func renamed(p panel, name string) bool {
	for _, transformation := range p.Transformations {
		for _, to := range transformation.Options.RenameByName {
			if to == name {
				return true
			}
		}
	}
	return false
}

func TestDashboardVariables(t *testing.T) {
	var names []string
	for _, v := range readDashboard(t).Templating.List {
		names = append(names, v.Name)
		switch v.Type {
		case "datasource":
			if string(v.Query) != `"prometheus"` {
				t.Errorf("%s is of %s, want prometheus", v.Name, v.Query)
			}
		case "query":
			if v.Datasource == nil || *v.Datasource != chosen {
				t.Errorf("%s asks %+v, want %+v", v.Name, v.Datasource, chosen)
			}
			var query struct{ Query string }
			if err := json.Unmarshal(v.Query, &query); err != nil || !strings.HasPrefix(query.Query, "label_values(") {
				t.Errorf("%s asks %s: %v", v.Name, v.Query, err)
			}
			checkSeries(t, query.Query)
		default:
			t.Errorf("%s is a %s", v.Name, v.Type)
		}
	}
	if got, want := fmt.Sprint(names), "[datasource namespace suite tag k]"; got != want {
		t.Errorf("variables are %s, want %s", got, want)
	}
}
