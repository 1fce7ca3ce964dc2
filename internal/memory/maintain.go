package memory

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// MaintenancePrompt tells a model what to do with what MaintenanceRequest shows it.
//
//go:embed maintain.md
var MaintenancePrompt string

// MaintenanceRequest shows a model memories of one person, an object a line, and the
// notes there are.
func MaintenanceRequest(memories []Memory, part int, more bool, notes string) (string, error) {
	var b strings.Builder
	b.WriteString("Memories of one person")
	if part > 0 || more {
		fmt.Fprintf(&b, ", part %d", part+1)
	}
	b.WriteString(", a JSON object a line:\n\n")
	for _, m := range memories {
		line, err := memoryLine(m)
		if err != nil {
			return "", err
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	if notes == "" {
		notes = "(none yet)"
	}
	b.WriteString("\nThe notes on this person so far:\n\n" + notes + "\n")
	return b.String(), nil
}

func memoryLine(m Memory) ([]byte, error) {
	line, err := json.Marshal(struct {
		Name
		Content string `json:"content"`
		Updated string `json:"updated"`
	}{m.Name, m.Content, time.UnixMilli(m.UpdatedAt).UTC().Format("2006-01-02")})
	if err != nil {
		return nil, fmt.Errorf("show a memory to the model: %w", err)
	}
	return line, nil
}
