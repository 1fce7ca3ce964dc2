// Package temporalmetrics puts the metrics of Temporal's SDK into a Prometheus
// registry: counters end in _total, timers in _seconds.
//
// The SDK's own way there, contrib/tally, would be three more modules, a reporting
// loop and a delay.
package temporalmetrics
