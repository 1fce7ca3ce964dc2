package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
	"picobot/internal/memory"
	"picobot/store"
)

// memoryStore is what fills a record with memories.
type memoryStore interface {
	PutMemory(ctx context.Context, scope string, n memory.Name, content string) (memory.Memory, bool, error)
}

func named(namespace, key string) memory.Name { return memory.Name{Namespace: namespace, Key: key} }

func put(t testing.TB, s *store.Store, scope, namespace, key, content string) {
	t.Helper()
	_, _, err := s.PutMemory(t.Context(), scope, named(namespace, key), content)
	require.NoError(t, err)
}

// found lists the keys that a search finds.
func found(t testing.TB, s *store.Store, scope, namespace, query string) []string {
	t.Helper()
	hits, err := s.SearchMemories(t.Context(), scope, namespace, query, 10)
	require.NoError(t, err)
	var keys []string
	for _, h := range hits {
		require.True(t, scope == "" || h.Scope == scope)
		keys = append(keys, h.Key)
	}
	return keys
}

func TestMemories_PutGetUpdateDelete_AndTheSearchFollows(t *testing.T) {
	s := open(t)
	m, created, err := s.PutMemory(t.Context(), "cli:a", named("notes", "色"), "likes blue")
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, memory.SourceAPI, m.Source.Type)
	got, err := s.Memory(t.Context(), "cli:a", named("notes", "色"))
	require.NoError(t, err)
	require.Equal(t, m, got)
	require.Equal(t, []string{"色"}, found(t, s, "cli:a", "", "blue"))

	changed, created, err := s.PutMemory(t.Context(), "cli:a", named("notes", "色"), "likes green")
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, m.ID, changed.ID)
	require.Equal(t, m.CreatedAt, changed.CreatedAt)
	require.Greater(t, changed.UpdatedAt, m.UpdatedAt)
	require.Empty(t, found(t, s, "cli:a", "", "blue"))
	require.Equal(t, []string{"色"}, found(t, s, "cli:a", "", "green"))

	require.NoError(t, s.DeleteMemory(t.Context(), "cli:a", named("notes", "色")))
	require.Empty(t, found(t, s, "cli:a", "", "green"))
	err = s.DeleteMemory(t.Context(), "cli:a", named("notes", "色"))
	missing, ok := errors.AsType[*memory.MissingError](err)
	require.True(t, ok)
	require.Empty(t, missing.Nearest)
}

func TestMemories_OfAnotherPerson_AreNeitherFoundNorListedNorChanged(t *testing.T) {
	s := open(t)
	put(t, s, "cli:a", "notes", "secret", "the door code is 4711")
	put(t, s, "feishu:a", "notes", "secret", "another person of the same id")
	require.Empty(t, found(t, s, "cli:b", "", "door code"))
	require.Empty(t, found(t, s, "feishu:a", "", "door"))
	require.Equal(t, []string{"secret"}, found(t, s, "cli:a", "", "door"))
	require.Len(t, found(t, s, "", "", "door OR person"), 2, "an operator searches everybody's")
	list, err := s.Memories(t.Context(), memory.Filter{Scope: "cli:b"})
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = s.Memory(t.Context(), "cli:b", named("notes", "secret"))
	missing, ok := errors.AsType[*memory.MissingError](err)
	require.True(t, ok)
	require.Empty(t, missing.Nearest, "what others have is not suggested")
	require.Error(t, s.DeleteMemory(t.Context(), "cli:b", named("notes", "secret")))
	require.Equal(t, []string{"secret"}, found(t, s, "cli:a", "", "door"))
}

func TestMemory_Missing_TheNearestAreNamed(t *testing.T) {
	s := open(t)
	for _, k := range []string{"birthday", "家庭住址", "coffee", "birth place"} {
		put(t, s, "cli:a", "profile", k, "x")
	}
	put(t, s, "cli:a", "work", "birthdays of colleagues", "x")
	for asked, want := range map[string]string{"Birthdy": "profile/birthday", "住址": "profile/家庭住址", "cofee": "profile/coffee"} {
		_, err := s.Memory(t.Context(), "cli:a", named("profile", asked))
		missing, ok := errors.AsType[*memory.MissingError](err)
		require.True(t, ok)
		require.NotEmpty(t, missing.Nearest, asked)
		require.Equal(t, want, missing.Nearest[0].String())
		require.ErrorContains(t, err, want)
	}
	_, err := s.Memory(t.Context(), "cli:a", named("profile", "zzz"))
	require.EqualError(t, err, `there is no memory "zzz" in namespace "profile"`)
}

func TestSearchMemories_EquallyGood_TheNewestFirst(t *testing.T) {
	s := open(t)
	for _, k := range []string{"aa", "bb", "cc"} {
		put(t, s, "cli:a", "n", k, "the same text")
	}
	require.Equal(t, []string{"cc", "bb", "aa"}, found(t, s, "cli:a", "", "same"))
	put(t, s, "cli:a", "n", "aa", "the same texts")
	require.Equal(t, []string{"aa", "cc", "bb"}, found(t, s, "cli:a", "", "same"), "a change counts as new")
}

func TestSearchMemories_Namespace_Restricts(t *testing.T) {
	s := open(t)
	put(t, s, "cli:a", "work", "x", "tea at work")
	put(t, s, "cli:a", "home", "y", "tea at home")
	require.Equal(t, []string{"y"}, found(t, s, "cli:a", "home", "tea"))
	require.Len(t, found(t, s, "cli:a", "", "tea"), 2)
	require.Empty(t, found(t, s, "cli:a", "nowhere", "tea"))
}

// A search ranks the newest so many of what has its words: of the namespace that is
// asked for, not of all.
func TestSearchMemories_Namespace_IsFoundBehindAnyNumberOfNewerOnes(t *testing.T) {
	s := open(t)
	for _, namespace := range []string{"home", "家 里", "NEAR(a b) *\""} {
		put(t, s, "cli:a", namespace, "old "+namespace, "tea at four")
	}
	for i := range 600 {
		put(t, s, "cli:a", "work", fmt.Sprint("k", i), "tea at five")
	}
	for _, namespace := range []string{"home", "家 里", "NEAR(a b) *\""} {
		require.Equal(t, []string{"old " + namespace}, found(t, s, "cli:a", namespace, "tea"), namespace)
	}
	require.Empty(t, found(t, s, "cli:a", "HOME", "tea"), "another namespace, of the same words")
}

func TestSearchMemories_AllWordsComeBeforeSome_AndCommonWordsDoNotDecide(t *testing.T) {
	s := open(t)
	for i := range 1200 {
		put(t, s, "cli:a", "n", fmt.Sprintf("k%d", i), "the common note about nothing")
		if i == 600 {
			put(t, s, "cli:a", "n", "rare", "the zebra")
		}
	}
	require.Equal(t, "rare", found(t, s, "cli:a", "", "the zebra about")[0])
	require.Len(t, found(t, s, "cli:a", "", "the"), 10)
	require.Equal(t, "k1199", found(t, s, "cli:a", "", "common")[0])
}

// Whoever writes the file by another way: what is there is what is found.
func TestSearchMemories_WrittenByAnotherProgram_AreFoundToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	put(t, s, "cli:a", "n", "mine", "written by picobot")
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer db.Close()
	for _, statement := range []string{
		`INSERT INTO memories (id, scope_kind, scope_key, namespace, memory_key, content, created_at, updated_at) VALUES ('x', 'user', 'cli:a', 'n', 'theirs', '写在别处', 1, 1)`,
		`UPDATE memories SET content = 'changed elsewhere' WHERE memory_key = 'mine'`,
	} {
		_, err = db.Exec(statement)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"theirs"}, found(t, s, "cli:a", "", "别处"))
	require.Equal(t, []string{"mine"}, found(t, s, "cli:a", "", "changed"))
	require.Empty(t, found(t, s, "cli:a", "", "written"))
	_, err = db.Exec(`DELETE FROM memories`)
	require.NoError(t, err)
	require.Empty(t, found(t, s, "cli:a", "", "别处"))
	require.Equal(t, "ok", query[string](t, path, `PRAGMA integrity_check`))
}

// The SQLite of a Debian stable or of Python cannot open the index. Memories can be read,
// changed and deleted with it all the same.
func TestMemories_ChangedByAnotherProgram_TheIndexIsNotTouchedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	put(t, s, "cli:a", "n", "k", "written by picobot")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	for _, statement := range []string{
		`INSERT INTO memories (id, scope_kind, scope_key, namespace, memory_key, content, created_at, updated_at) VALUES ('x', 'user', 'cli:a', 'n', 'theirs', 'x', 1, 1)`,
		`UPDATE memories SET content = 'changed'`,
		`DELETE FROM memories`,
	} {
		codes := opcodes(t, db, statement)
		require.Greater(t, len(codes), 10)
		for _, code := range codes {
			require.NotContains(t, []string{"VOpen", "VUpdate", "VBegin"}, code, "%s opens a virtual table", statement)
		}
	}
}

// opcodes are what SQLite would do, in the triggers too.
func opcodes(t *testing.T, db *sql.DB, statement string) (codes []string) {
	t.Helper()
	rows, err := db.Query(`EXPLAIN ` + statement)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var code string
		var rest [7]any
		require.NoError(t, rows.Scan(&rest[0], &code, &rest[1], &rest[2], &rest[3], &rest[4], &rest[5], &rest[6]))
		codes = append(codes, code)
	}
	require.NoError(t, rows.Err())
	return codes
}

func TestMemories_List_PagesThroughAll(t *testing.T) {
	s := open(t)
	var want []string
	for _, scope := range []string{"cli:a", "cli:b"} {
		for _, ns := range []string{"n1", "n2"} {
			for i := range 3 {
				put(t, s, scope, ns, fmt.Sprint(i), "x")
				want = append(want, fmt.Sprint(scope, ns, i))
			}
		}
	}
	for _, scope := range []string{"", "cli:a"} {
		var got []string
		f := memory.Filter{Scope: scope, Limit: 2}
		for {
			page, err := s.Memories(t.Context(), f)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			for _, m := range page {
				got = append(got, m.Scope+m.Namespace+m.Key)
			}
			f.After = page[len(page)-1].Cursor()
		}
		if scope == "" {
			require.Equal(t, want, got)
		} else {
			require.Equal(t, want[:6], got)
		}
	}
	o, err := s.MemoryOverview(t.Context(), "cli:a")
	require.NoError(t, err)
	require.Equal(t, memory.Overview{Count: 6, Namespaces: []string{"n1", "n2"}}, o)
}

func TestToolTx_Memories_AreTheTurnsPersons_AndSayWhereTheyComeFrom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	turn := asking(t, s, "a", "b", "c", "d")
	do := func(pos int, f func(*store.ToolTx) error) chat.ToolStatus {
		run, err := s.RunRecordTool(t.Context(), toolRun(turn.ID, 1, pos, string(rune('a'+pos))), func(tx *store.ToolTx) (chat.ToolStatus, string, error) {
			if err := f(tx); err != nil {
				return chat.ToolFailed, "Error: " + err.Error(), err
			}
			return chat.ToolCompleted, "done", nil
		})
		require.NoError(t, err)
		return run.Status
	}
	require.Equal(t, chat.ToolCompleted, do(0, func(tx *store.ToolTx) error {
		_, err := tx.PutMemory(named("notes", "k"), "v")
		return err
	}))
	m, err := s.Memory(t.Context(), "cli:me", named("notes", "k"))
	require.NoError(t, err)
	row := query[string](t, path, `SELECT id FROM messages WHERE role = 'user'`)
	require.Equal(t, memory.Source{Type: memory.SourceTool, SessionID: turn.SessionID, MessageID: row,
		MessageSeq: query[int64](t, path, `SELECT seq FROM messages WHERE role = 'user'`), Channel: "cli", ChatID: "c1"}, m.Source)
	require.Equal(t, chat.ToolCompleted, do(1, func(tx *store.ToolTx) error { return tx.UpdateMemory(named("notes", "k"), "w") }))
	require.Equal(t, chat.ToolFailed, do(2, func(tx *store.ToolTx) error { return tx.UpdateMemory(named("notes", "kk"), "w") }))
	require.Equal(t, chat.ToolCompleted, do(3, func(tx *store.ToolTx) error { return tx.DeleteMemory(named("notes", "k")) }))
	require.Zero(t, query[int](t, path, `SELECT count(*) FROM memories`))
}

// Whatever is written, changed and deleted: the index holds a row for each memory and
// no other, and each is found by what it says.
func TestMemories_AnyChanges_TheIndexIsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, _ := openAt(t, path)
	words := []string{"alpha", "beta", "飞书", "机器", "gamma 部署", "δέλτα"}
	there := map[string]string{}
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "key")
		switch rapid.IntRange(0, 3).Draw(rt, "do") {
		case 0:
			err := s.DeleteMemory(context.Background(), "cli:a", named("n", key))
			if _, was := there[key]; was != (err == nil) {
				rt.Fatalf("delete %s: %v", key, err)
			}
			delete(there, key)
		default:
			there[key] = rapid.SampledFrom(words).Draw(rt, "content")
			if _, _, err := s.PutMemory(context.Background(), "cli:a", named("n", key), there[key]); err != nil {
				rt.Fatal(err)
			}
		}
		for _, w := range words {
			want := map[string]bool{}
			for k, c := range there {
				if c == w {
					want[k] = true
				}
			}
			hits, err := s.SearchMemories(context.Background(), "cli:a", "", w, 10)
			if err != nil || len(hits) != len(want) {
				rt.Fatalf("%s: %v %v, want %v", w, hits, err, want)
			}
		}
	})
	require.Equal(t, "ok", query[string](t, path, `PRAGMA integrity_check`))
}

// The search of one person's 100,000 memories.
func BenchmarkSearchMemories_100000(b *testing.B) {
	s, path := openBench(b)
	words := strings.Fields("deploy gateway token coffee morning meeting review budget school garden trip hotel window violin jazz knee river bridge market letter")
	han := []rune("天地人你我他春夏秋冬东西南北金木水火土山川湖海风云雨雪日月星辰飞书机器部署会议备份数据库服务网关消息定时任务")
	rnd := rand.New(rand.NewPCG(1, 2))
	db := openRaw(b, path)
	tx, err := db.Begin()
	require.NoError(b, err)
	for i := range 100_000 {
		var content strings.Builder
		for range 8 {
			content.WriteString(words[rnd.IntN(len(words))] + fmt.Sprint(rnd.IntN(2000)) + " ")
		}
		content.WriteString(words[rnd.IntN(len(words))] + " ")
		for range 12 {
			content.WriteRune(han[rnd.IntN(len(han))])
		}
		_, err := tx.Exec(`INSERT INTO memories (id, scope_kind, scope_key, namespace, memory_key, content, created_at, updated_at) VALUES (?, 'user', 'cli:a', ?, ?, ?, 1, 1)`,
			fmt.Sprint("m", i), fmt.Sprint("n", i%20), fmt.Sprint("key ", i), content.String())
		require.NoError(b, err)
	}
	require.NoError(b, tx.Commit())
	_, err = s.SearchMemories(b.Context(), "cli:a", "", "index", 1) // makes the index
	require.NoError(b, err)
	for name, queries := range map[string][]string{
		"words":    {"gateway42 token", "violin777", "coffee12 morning33", "knee5 hotel9"},
		"chinese":  {"飞书机器", "部署", "会", "数据库备份"},
		"question": {"when is the gateway42 meeting and what does it cost", "数据库什么时候备份到服务", "which hotel9 has a window and a garden17"},
		"common":   {"deploy", "deploy gateway", "key"},
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				_, err := s.SearchMemories(b.Context(), "cli:a", "", queries[i%len(queries)], 10)
				require.NoError(b, err)
				took = append(took, time.Since(began))
			}
			b.ReportMetric(median(took), "p50-ms")
		})
	}
}

func median(d []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(d))
	return float64(sorted[len(sorted)/2].Microseconds()) / 1000
}
