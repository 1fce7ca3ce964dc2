// Package openapi writes the OpenAPI 3.1 document of an HTTP API from descriptions of
// its endpoints, with the schemas of bodies taken from the Go types that are marshalled.
// It knows no endpoint itself, and serves nothing.
package openapi
