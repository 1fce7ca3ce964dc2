package backup

import (
	"math"

	"golang.org/x/sys/unix"
)

// free returns how many bytes can be written where dir is.
func free(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	bytes := float64(fs.Bavail) * float64(fs.Bsize)
	return int64(min(bytes, math.MaxInt64/2)), nil
}
