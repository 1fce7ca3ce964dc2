#!/bin/sh
# Prints the subjects of the commits since a tag.
git log --format=%s "${1:-HEAD~10}..HEAD" 2>/dev/null || echo "no commits"
