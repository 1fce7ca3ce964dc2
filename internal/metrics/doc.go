// Package metrics owns PicoBot's Prometheus metrics: their names, their labels and the
// registry that they are in. Labels are bounded: what comes from a model or from
// outside becomes one only where there are few of it.
//
// It must not know where the numbers come from: it is told what has happened, once.
package metrics
