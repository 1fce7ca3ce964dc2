package metrics

import "net/http"

// deaf is written to on and on when its reader has hung up: that concerns nobody, and
// promhttp would report each metric that it could not send.
type deaf struct{ http.ResponseWriter }

// Write reports nothing of the reader's.
func (d deaf) Write(p []byte) (int, error) {
	_, _ = d.ResponseWriter.Write(p)
	return len(p), nil
}
