package tools

import (
	"context"
	_ "embed"
	"fmt"
)

//go:embed file_write.md
var fileWriteDescription string

type fileWriteArgs struct {
	Path    string `json:"path" jsonschema:"file to write, relative to the workspace"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

// FileWrite is the tool file_write.
func FileWrite(w *Workspace) Tool {
	return New(Spec[fileWriteArgs]{
		Name:        "file_write",
		Description: fileWriteDescription,
		Effect:      Outside,
		Summary:     func(a fileWriteArgs) string { return a.Path },
	}, func(_ context.Context, _ Call, a fileWriteArgs) (string, error) {
		p, err := w.locateToWrite(a.Path)
		if err != nil {
			return "", err
		}
		defer p.close()
		before, err := p.write(replacement{data: []byte(a.Content)})
		if err != nil {
			return "", err
		}
		if before == nil {
			return fmt.Sprintf("created %s (%s)", p.shown, bytesText(int64(len(a.Content)))), nil
		}
		return fmt.Sprintf("replaced %s (%s, before %s)", p.shown, bytesText(int64(len(a.Content))), bytesText(before.Size())), nil
	})
}
