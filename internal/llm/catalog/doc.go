// Package catalog makes providers and models of plain values: it knows which type
// of provider is which package, and which model lives at which provider. It reads
// no configuration file and no environment, and it does not connect to anything.
package catalog
