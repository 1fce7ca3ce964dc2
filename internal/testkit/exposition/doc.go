// Package exposition reads what /metrics answers, as strictly as Prometheus does.
package exposition
