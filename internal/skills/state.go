package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// stateKey is the key of a state file that is ours. Others are left as they are.
const stateKey = "disabled_skills"

// state is what a state file says.
type state struct {
	keys     map[string]json.RawMessage
	disabled []string
}

// load reads a state file; nil when it is not there.
func (f StateFile) load() ([]byte, error) {
	base, err := os.OpenRoot(f.Base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New(reason(err))
	}
	defer func() { _ = base.Close() }()
	data, err := readFile(base, f.Path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New(reason(err))
	}
	return data, nil
}

// parseState reads what a state file says. One that is not there, or empty, switches
// nothing off.
func parseState(data []byte) (state, error) {
	var s state
	if len(data) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(data, &s.keys); err != nil {
		return state{}, fmt.Errorf("it is not valid JSON (%w): correct or delete it", err)
	}
	raw, ok := s.keys[stateKey]
	if !ok {
		return s, nil
	}
	if err := json.Unmarshal(raw, &s.disabled); err != nil {
		return state{}, fmt.Errorf("%q must be a list of names: correct it", stateKey)
	}
	return s, nil
}

// with returns the state with names switched off or on, and whether that is news.
func (s state) with(names []string, disabled bool) (state, bool) {
	list := slices.Clone(s.disabled)
	for _, name := range names {
		at := slices.Index(list, name)
		switch {
		case disabled && at < 0:
			list = append(list, name)
		case !disabled && at >= 0:
			list = slices.DeleteFunc(list, func(n string) bool { return n == name })
		}
	}
	if slices.Equal(list, s.disabled) {
		return s, false
	}
	slices.Sort(list)
	return state{keys: s.keys, disabled: list}, true
}

func (s state) encode() ([]byte, error) {
	keys := map[string]any{}
	for k, v := range s.keys {
		keys[k] = v
	}
	list := s.disabled
	if list == nil {
		list = []string{}
	}
	keys[stateKey] = list
	data, err := json.MarshalIndent(keys, "", "  ")
	return append(data, '\n'), err
}
