package memory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/llm"
	"picobot/internal/memory"
)

const emptyPlan = `{"facts":[],"preferences":[],"behaviour_patterns":[],"other":[],"merge":[],"delete":[],"conflicts":[],"managed_markdown":""}`

func planWith(change string) string {
	var all, more map[string]json.RawMessage
	if json.Unmarshal([]byte(emptyPlan), &all) != nil || json.Unmarshal([]byte(change), &more) != nil {
		panic(change)
	}
	for k, v := range more {
		all[k] = v
	}
	raw, _ := json.Marshal(all)
	return string(raw)
}

func parsed(t *testing.T, change string) memory.Plan {
	t.Helper()
	p, err := memory.ParsePlan(planWith(change))
	require.NoError(t, err)
	return p
}

func TestPlanSchema_IsOneThatEndpointsCanEnforce(t *testing.T) {
	require.True(t, llm.Schema{Name: "plan", JSON: memory.PlanSchema()}.Strict())
	require.NotContains(t, string(memory.PlanSchema()), "null")
}

func TestParsePlan_AnythingElse_IsRefused(t *testing.T) {
	_, err := memory.ParsePlan(emptyPlan)
	require.NoError(t, err)
	for answer, says := range map[string]string{
		"":                                    "no JSON",
		"I would merge a and b.":              "no JSON",
		"[]":                                  "no object",
		"null":                                "no object",
		"{}":                                  "facts is missing",
		planWith(`{"facts":"x"}`):             "facts is wrong",
		planWith(`{"facts":[1]}`):             "facts is wrong",
		planWith(`{"merge":[{"from":[]}]}`):   "merge is wrong",
		planWith(`{"delete":[{"key":"x"}]}`):  "delete is wrong",
		planWith(`{"managed_markdown":null}`): "managed_markdown is wrong",
		planWith(`{"drop_all":true}`):         "more than that",
		planWith(`{"delete":["a/b"]}`):        "delete is wrong",
		planWith(fmt.Sprintf(`{"managed_markdown":%q}`, strings.Repeat("字", 8001))): "longer than 8000",
		planWith(fmt.Sprintf(`{"facts":[%q]}`, strings.Repeat("x", 2001))):          "longer than 2000",
		strings.Repeat(" ", 1<<20) + emptyPlan:                                      "bytes long",
	} {
		_, err := memory.ParsePlan(answer)
		require.ErrorContains(t, err, says, answer[:min(len(answer), 200)])
	}
}

func names(keys ...string) []memory.Name {
	var out []memory.Name
	for _, k := range keys {
		out = append(out, memory.Name{Namespace: "n", Key: k})
	}
	return out
}

func TestTidy_DoesWhatAPlanNamesAndNothingElse(t *testing.T) {
	tidy, err := memory.Tidy([]memory.Plan{
		parsed(t, `{"merge":[{"into":{"namespace":"n","key":"a","content":"both"},"from":[{"namespace":"n","key":"a"},{"namespace":"n","key":"b"}]}],
			"delete":[{"namespace":"n","key":"c","reason":"old"}],"managed_markdown":"first"}`),
		parsed(t, `{"merge":[{"into":{"namespace":"new","key":"x","content":"moved"},"from":[{"namespace":"n","key":"d"}]}],
			"conflicts":[{"items":[{"namespace":"n","key":"e"}],"note":"?"}],"facts":["one"]}`),
	}, names("a", "b", "c", "d", "e"))
	require.NoError(t, err)
	require.Equal(t, memory.Tidying{
		Merges:    []memory.Merged{{Into: names("a")[0], Content: "both", From: names("b")}, {Into: memory.Name{Namespace: "new", Key: "x"}, Content: "moved", From: names("d")}},
		Deletes:   names("c"),
		Conflicts: 1,
		Markdown:  "### Facts\n\n- one",
	}, tidy)
}

func TestTidy_PlanThatWouldLoseSomething_IsRefused(t *testing.T) {
	there := names("a", "b", "c", "d")
	del := func(keys ...string) string {
		var list []string
		for _, k := range keys {
			list = append(list, fmt.Sprintf(`{"namespace":"n","key":%q,"reason":""}`, k))
		}
		return `{"delete":[` + strings.Join(list, ",") + `]}`
	}
	merge := func(into, content string, from ...string) string {
		var list []string
		for _, k := range from {
			list = append(list, fmt.Sprintf(`{"namespace":"n","key":%q}`, k))
		}
		return fmt.Sprintf(`{"merge":[{"into":{"namespace":"n","key":%q,"content":%q},"from":[%s]}]}`, into, content, strings.Join(list, ","))
	}
	for says, plans := range map[string][]string{
		"3 of 4 memories, more than half":      {del("a", "b"), del("c")},
		"not there":                            {del("z")},
		"conflicts: it names a memory that":    {`{"conflicts":[{"items":[{"namespace":"n","key":"z"}],"note":""}]}`},
		"names a memory twice":                 {del("a", "a")},
		"merge: it names a memory twice":       {del("a"), merge("x", "v", "a", "b")},
		"twice":                                {merge("x", "v", "a"), merge("x", "w", "b")},
		"overwrite":                            {merge("d", "v", "a", "b")},
		"nothing is merged":                    {merge("x", "v")},
		"content of the merged memory":         {merge("a", " ", "a", "b")},
		"name of the merged memory":            {merge("a\u202e", "v", "a", "b")},
		"delete: it names a memory twice":      {merge("x", "v", "a", "b"), del("b")},
		"more than half":                       {merge("a", "v", "a", "b", "c", "d")},
		"merge: it names a memory that is not": {merge("x", "v", "a", "zz")},
	} {
		var list []memory.Plan
		for _, p := range plans {
			list = append(list, parsed(t, p))
		}
		_, err := memory.Tidy(list, there)
		require.ErrorContains(t, err, says)
	}
	_, err := memory.Tidy([]memory.Plan{parsed(t, del("a", "b"))}, there)
	require.NoError(t, err, "half of them is not more than half")
	_, err = memory.Tidy([]memory.Plan{parsed(t, del("a"))}, names("a"))
	require.Error(t, err, "the only one")
}

// Whatever a plan says: what it does not name stays, and at least half is left.
func TestTidy_AnyPlan_KeepsWhatIsNotNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "new", ""})
		there := names("a", "b", "c", "d", "e", "f")
		var p memory.Plan
		for range rapid.IntRange(0, 3).Draw(t, "merges") {
			var m memory.Merge
			m.Into.Name, m.Into.Content = names(key.Draw(t, "into"))[0], "merged"
			m.From = names(rapid.SliceOfN(key, 0, 3).Draw(t, "from")...)
			p.Merge = append(p.Merge, m)
		}
		for _, k := range rapid.SliceOfN(key, 0, 3).Draw(t, "delete") {
			p.Delete = append(p.Delete, memory.Deletion{Name: names(k)[0]})
		}
		tidy, err := memory.Tidy([]memory.Plan{p}, there)
		if err != nil {
			return
		}
		left, named := map[memory.Name]bool{}, map[memory.Name]bool{}
		for _, n := range there {
			left[n] = true
		}
		for _, d := range p.Delete {
			named[d.Name] = true
		}
		for _, m := range p.Merge {
			for _, n := range m.From {
				named[n] = true
			}
		}
		for _, d := range tidy.Deletes {
			delete(left, d)
		}
		for _, m := range tidy.Merges {
			for _, n := range m.From {
				delete(left, n)
			}
		}
		for _, m := range tidy.Merges {
			if left[m.Into] && !named[m.Into] {
				t.Fatalf("%v is overwritten", m.Into)
			}
			left[m.Into] = true
		}
		for _, n := range there {
			if !left[n] && !named[n] {
				t.Fatalf("%v is gone", n)
			}
		}
		if 2*len(left) < len(there) {
			t.Fatalf("%d of %d are left", len(left), len(there))
		}
	})
}
