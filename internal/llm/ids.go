package llm

import "fmt"

// UniqueIDs returns the ids of a response's calls so that each is there and unlike
// the others, and otherwise as it was: some providers insist on their own form.
func UniqueIDs(ids []string) []string {
	taken := map[string]bool{}
	for _, id := range ids {
		taken[id] = true
	}
	used := map[string]bool{}
	out := make([]string, len(ids))
	for i, id := range ids {
		switch {
		case id == "":
			if id = fmt.Sprintf("call_%d", i+1); taken[id] {
				id = suffixed(id, taken)
			}
		case used[id]:
			id = suffixed(id, taken)
		}
		taken[id], used[id] = true, true
		out[i] = id
	}
	return out
}

// suffixed returns id with the first suffix that makes it new.
func suffixed(id string, taken map[string]bool) string {
	for n := 2; ; n++ {
		if candidate := fmt.Sprintf("%s_%d", id, n); !taken[candidate] {
			return candidate
		}
	}
}
