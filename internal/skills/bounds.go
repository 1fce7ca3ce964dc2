package skills

// Bounds of what is taken from the disk. A directory that is larger is no
// collection of skills but a mistake, and must not make every request slow.
const (
	maxFile        = 256 << 10 // bytes of a SKILL.md
	maxFrontMatter = 64 << 10  // bytes of its front matter
	maxState       = 1 << 20   // bytes of a state file
	maxDepth       = 4         // folders from the source down to a skill
	maxEntries     = 10000     // of one folder
	maxProblems    = 200       // kept; the rest is counted

	maxDescription = 1024 // characters that are kept
	maxName        = 64   // characters

	maxListedFiles = 200 // of an activated skill
	maxListedDepth = 6
)

// limits bound one source.
type limits struct{ folders, skills int }

// sourceLimits are the limits of every source.
func sourceLimits() limits { return limits{folders: 5000, skills: 2000} }
