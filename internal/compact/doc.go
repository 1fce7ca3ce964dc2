// Package compact knows when a conversation is worth compacting, what a model is asked
// for a summary of its older part, and what is made of the answer. It reads no record
// and calls no model: sizes and messages come in, texts and verdicts go out.
package compact
