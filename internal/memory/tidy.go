package memory

import (
	"errors"
	"fmt"
)

// Tidying is what plans come to, checked: the only form in which they are carried out.
type Tidying struct {
	Merges    []Merged
	Deletes   []Name
	Conflicts int
	// Markdown is the person's notes; "" = the plans have none, those that are there stay.
	Markdown string
}

// Merged is a memory that takes the place of others.
type Merged struct {
	Into    Name
	Content string
	From    []Name // those that go; Into is not among them, whether or not it was there
}

// Tidy checks the plans for one person's memories, all of which names lists, as a
// whole: nothing is named that is not there, nothing twice, nothing is overwritten
// that was not named, and no more than half of the memories go. Its error repeats
// nothing of what plans and memories say.
func Tidy(plans []Plan, names []Name) (Tidying, error) {
	c := check{there: map[Name]bool{}, used: map[Name]bool{}}
	for _, n := range names {
		c.there[n] = true
	}
	var t Tidying
	for _, p := range plans {
		for _, m := range p.Merge {
			done, err := c.merge(m)
			if err != nil {
				return Tidying{}, err
			}
			t.Merges = append(t.Merges, done)
		}
		for _, d := range p.Delete {
			n, err := c.take(d.Name)
			if err != nil {
				return Tidying{}, fmt.Errorf("delete: %w", err)
			}
			t.Deletes = append(t.Deletes, n)
			c.gone++
		}
		for _, conflict := range p.Conflicts {
			for _, n := range conflict.Items {
				if _, err := c.named(n); err != nil {
					return Tidying{}, fmt.Errorf("conflicts: %w", err)
				}
			}
		}
		t.Conflicts += len(p.Conflicts)
		if text := p.Markdown(); text != "" {
			t.Markdown = text
		}
	}
	if 2*c.gone > len(names) {
		return Tidying{}, fmt.Errorf("it would drop %d of %d memories, more than half", c.gone, len(names))
	}
	return t, nil
}

var (
	errNotThere = errors.New("it names a memory that is not there")
	errTwice    = errors.New("it names a memory twice")
)

// check is what plans have named so far.
type check struct {
	there, used map[Name]bool
	gone        int
}

func (c *check) named(n Name) (Name, error) {
	clean, err := CleanName(n)
	if err != nil || !c.there[clean] {
		return n, errNotThere
	}
	return clean, nil
}

// take uses a memory up.
func (c *check) take(n Name) (Name, error) {
	n, err := c.named(n)
	if err == nil && c.used[n] {
		err = errTwice
	}
	c.used[n] = true
	return n, err
}

func (c *check) merge(m Merge) (Merged, error) {
	out := Merged{}
	var err error
	if out.Into, err = CleanName(m.Into.Name); err != nil {
		return out, errors.New("merge: the name of the merged memory cannot be used")
	}
	if out.Content, err = CleanContent(m.Into.Content); err != nil {
		return out, errors.New("merge: the content of the merged memory cannot be used")
	}
	if len(m.From) == 0 {
		return out, errors.New("merge: nothing is merged")
	}
	kept := false
	for _, from := range m.From {
		n, err := c.take(from)
		if err != nil {
			return out, fmt.Errorf("merge: %w", err)
		}
		if n == out.Into {
			kept = true
			continue
		}
		out.From = append(out.From, n)
	}
	switch {
	case kept:
	case c.there[out.Into]:
		return out, errors.New("merge: it would overwrite a memory that is not among those merged")
	case c.used[out.Into]:
		return out, fmt.Errorf("merge: %w", errTwice)
	}
	c.used[out.Into] = true
	c.gone += len(m.From) - 1
	return out, nil
}

// Names checks that a plan names only memories that its model was shown.
func Names(p Plan, shown []Memory) error {
	c := check{there: map[Name]bool{}}
	for _, m := range shown {
		c.there[m.Name] = true
	}
	var named []Name
	for _, m := range p.Merge {
		named = append(named, m.From...)
	}
	for _, d := range p.Delete {
		named = append(named, d.Name)
	}
	for _, conflict := range p.Conflicts {
		named = append(named, conflict.Items...)
	}
	for _, n := range named {
		if _, err := c.named(n); err != nil {
			return err
		}
	}
	return nil
}
