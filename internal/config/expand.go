package config

import "strings"

// expand puts environment variables into a string of the file: ${VAR}, or
// ${VAR:-default} where the default stands in for a variable that is missing or
// empty. $${ writes a literal ${. What a variable holds is not looked at again, and
// since the file is already parsed it cannot add keys to it either.
func (p treeParser) expand(s, path string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		if !found {
			out.WriteString(before)
			return out.String()
		}
		if strings.HasSuffix(before, "$") {
			out.WriteString(strings.TrimSuffix(before, "$") + "${")
			s = rest
			continue
		}
		out.WriteString(before)
		ref, after, closed := strings.Cut(rest, "}")
		name, fallback, hasFallback := strings.Cut(ref, ":-")
		switch {
		case !closed || !variableName(name):
			p.problems.spoil(path, "${ must begin ${NAME} or ${NAME:-default}; write $${ where ${ itself is meant")
			return out.String()
		case strings.Contains(fallback, "${"):
			p.problems.spoil(path, "the default of ${%s:-...} cannot hold another ${...}", name)
			return out.String()
		}
		value, set := p.env(name)
		switch {
		case hasFallback && value == "":
			value = fallback
		case !hasFallback && !set:
			p.problems.missing(path, "environment variable %s is not set; set it or write ${%s:-default}", name, name)
		}
		if out.Len()+len(value) > maxFileBytes {
			p.problems.spoil(path, "the variables in this string make it longer than %d bytes", maxFileBytes)
			return ""
		}
		out.WriteString(strings.ToValidUTF8(value, "\uFFFD"))
		s = after
	}
}

// variableName reports whether s can be the name of an environment variable.
func variableName(s string) bool {
	for i, r := range s {
		switch {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		case r >= '0' && r <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxQuoted
}
