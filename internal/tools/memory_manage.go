package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"picobot/internal/memory"
)

//go:embed memory_manage.md
var memoryManageDescription string

type memoryManageArgs struct {
	Action    string `json:"action" jsonschema:"what to do"`
	Namespace string `json:"namespace" jsonschema:"the subject, such as profile or preferences"`
	Key       string `json:"key" jsonschema:"what the memory is about, such as birthday"`
	Content   string `json:"content,omitempty" jsonschema:"what is to be remembered; for put and update"`
}

// MemoryWriter is what memory_manage writes to: a transaction of the record, in the
// name of the turn's person. Names and contents are clean.
type MemoryWriter interface {
	PutMemory(n memory.Name, content string) (created bool, err error)
	UpdateMemory(n memory.Name, content string) error
	DeleteMemory(n memory.Name) error
}

// MemoryManage is the tool memory_manage. Its call's Tx is a MemoryWriter.
func MemoryManage() Tool {
	return NewRecord(Spec[memoryManageArgs]{
		Name:        "memory_manage",
		Description: memoryManageDescription,
		Summary:     func(a memoryManageArgs) string { return a.Action + " " + a.Namespace + "/" + a.Key },
		Refine: func(s *jsonschema.Schema) {
			s.Properties["action"].Enum = []any{"put", "update", "delete"}
		},
	}, manageMemory)
}

func manageMemory(_ context.Context, w MemoryWriter, c Call, a memoryManageArgs) (string, error) {
	if c.SenderID == "" {
		return "", errNobody
	}
	name, err := memory.CleanName(memory.Name{Namespace: a.Namespace, Key: a.Key})
	if err != nil {
		return "", err
	}
	if a.Action == "delete" {
		if err := w.DeleteMemory(name); err != nil {
			return "", err
		}
		return fmt.Sprintf("Forgot %s.", name), nil
	}
	content, err := memory.CleanContent(a.Content)
	if err != nil {
		return "", err
	}
	if a.Action == "update" {
		if err := w.UpdateMemory(name, content); err != nil {
			if _, missing := errors.AsType[*memory.MissingError](err); missing {
				return "", fmt.Errorf("%w. Write a new memory with put", err)
			}
			return "", err
		}
		return fmt.Sprintf("Updated %s.", name), nil
	}
	created, err := w.PutMemory(name, content)
	switch {
	case err != nil:
		return "", err
	case created:
		return fmt.Sprintf("Remembered %s.", name), nil
	}
	return fmt.Sprintf("Remembered %s, in place of what it said before.", name), nil
}

// errNobody: there is nobody whose memories could be meant.
var errNobody = errors.New("this turn has no person, so there are no memories to look at or to write")
