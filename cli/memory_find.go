package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"picobot/cli/api"
	"picobot/gateway"
	"picobot/internal/chat"
	"picobot/internal/memory"
)

func (f memoryFlags) query() url.Values {
	q := url.Values{}
	if f.scope != "" {
		q.Set("scope_key", f.scope)
	}
	if f.namespace != "" {
		q.Set("namespace", f.namespace)
	}
	return q
}

// pageSize is how many items are asked for at once.
const pageSize = 500

// memories lists memories in the order of their names.
func (v *visit) memories(ctx context.Context, f memoryFlags) ([]gateway.MemoryItem, error) {
	if v.client != nil {
		q := f.query()
		q.Set("limit", strconv.Itoa(pageSize))
		return api.List[gateway.MemoryItem](ctx, v.client, api.Path("memories"), q, "cursor", f.limit)
	}
	r, err := v.record(ctx)
	if err != nil {
		return nil, err
	}
	var items []gateway.MemoryItem
	filter := memory.Filter{Scope: f.scope, Namespace: f.namespace, Limit: pageSize}
	for {
		page, err := r.Memories(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if items = append(items, gateway.MemoryItemOf(m)); len(items) == f.limit {
				return items, nil
			}
			filter.After = m.Cursor()
		}
		if len(page) < pageSize {
			return items, nil
		}
	}
}

func (v *visit) searchMemories(ctx context.Context, f memoryFlags, query string) ([]gateway.MemoryItem, error) {
	if strings.TrimSpace(query) == "" {
		return nil, usagef("the query is empty: write the words to look for")
	}
	if f.limit == 0 {
		f.limit = pageSize
	}
	if v.client != nil {
		q := f.query()
		q.Set("q", query)
		q.Set("limit", strconv.Itoa(f.limit))
		return api.List[gateway.MemoryItem](ctx, v.client, api.Path("memories"), q, "", 0)
	}
	r, err := v.record(ctx)
	if err != nil {
		return nil, err
	}
	hits, err := r.SearchMemories(ctx, f.scope, f.namespace, query, f.limit)
	items := make([]gateway.MemoryItem, len(hits))
	for i, h := range hits {
		items[i] = gateway.HitItemOf(h)
	}
	return items, err
}

// memory returns one memory in full.
func (v *visit) memory(ctx context.Context, f memoryFlags, namespace, key string) (gateway.MemoryItem, error) {
	if v.client != nil {
		c, query, err := v.oneMemory(f, namespace, key)
		if err != nil {
			return gateway.MemoryItem{}, err
		}
		found, err := api.List[gateway.MemoryItem](ctx, c, api.Path("memories"), query, "", 0)
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("the gateway answered with %d memories instead of one", len(found))
		}
		if err != nil {
			return gateway.MemoryItem{}, err
		}
		return found[0], nil
	}
	r, err := v.record(ctx)
	if err != nil {
		return gateway.MemoryItem{}, err
	}
	scope, err := v.scope(f)
	if err != nil {
		return gateway.MemoryItem{}, err
	}
	name, err := memory.CleanName(memory.Name{Namespace: namespace, Key: key})
	if err != nil {
		return gateway.MemoryItem{}, err
	}
	m, err := r.Memory(ctx, scope, name)
	return gateway.MemoryItemOf(m), err
}

// oneMemory names a memory for the gateway.
func (v *visit) oneMemory(f memoryFlags, namespace, key string) (*api.Client, url.Values, error) {
	c, err := v.gateway()
	if err != nil {
		return nil, nil, err
	}
	scope, err := v.scope(f)
	return c, url.Values{"scope_key": {scope}, "namespace": {namespace}, "key": {key}}, err
}

// scope is whose memories are meant: who sits at this home's terminal, if nobody else
// is named.
func (v *visit) scope(f memoryFlags) (string, error) {
	if f.scope != "" {
		return f.scope, nil
	}
	id, err := v.home.ClientID()
	return memory.Scope(chat.ChannelCLI, id), err
}
