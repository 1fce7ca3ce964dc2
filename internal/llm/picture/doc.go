// Package picture brings images into the size and format that models take: pixels
// beyond what a model looks at only cost tokens and time, and providers refuse
// files that are too large (Anthropic beyond 5 MB of base64:
// https://platform.claude.com/docs/en/build-with-claude/vision). It reads no files.
package picture
