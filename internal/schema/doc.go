// Package schema makes the JSON schemas that models are held to from Go types. It must
// not know what they are for.
package schema
