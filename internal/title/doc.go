// Package title knows what a model is asked for the title of a conversation and which
// answers are one. It reads no record and calls no model.
package title
