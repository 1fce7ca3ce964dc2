// Package netguard keeps requests that a model asked for away from where they
// have no business: this machine, the network it stands in, and the services that
// hand out a cloud's credentials (server-side request forgery).
//
// The decision is made on the address that is really dialled, by the dialler, just
// before it connects: names are never looked up twice, so a name that means
// something else the second time (DNS rebinding) gains nothing, and every redirect
// and every connection is decided anew. Looking at the URL first (CheckURL) only
// gives better errors.
//
// It owns the ranges, the ports, the form of URLs and the HTTP client that keeps to
// them. It must not know what is fetched, or why.
package netguard
