package skills_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// thousand is a library of 1,000 skills that were written long ago.
func thousand(b *testing.B) *library {
	b.Helper()
	l := newLibrary(b)
	old := time.Now().Add(-time.Hour)
	for i := range 1000 {
		name := fmt.Sprintf("skill-%04d", i)
		l.put("user", name+"/SKILL.md", plainSkill(name, "Does a thing: and another. "+strings.Repeat("word ", 30)))
		l.put("user", name+"/scripts/run.sh", "echo x")
		path := l.dir("user") + "/" + name + "/SKILL.md"
		if err := os.Chtimes(path, old, old); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	return l
}

func BenchmarkLoad_1000(b *testing.B) {
	l := thousand(b)
	for b.Loop() {
		l.Reload(b.Context())
	}
	b.ReportMetric(float64(len(l.names())), "skills")
}

// What a request pays while nothing changes.
func BenchmarkUnchanged_1000(b *testing.B) {
	l := thousand(b)
	l.Snapshot(b.Context())
	// Files count as settled two seconds after the last change of any kind.
	for end := time.Now().Add(2100 * time.Millisecond); time.Now().Before(end); {
		l.Snapshot(b.Context())
	}
	b.ResetTimer()
	for range b.N {
		l.Index(b.Context())
	}
}
