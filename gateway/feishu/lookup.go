package feishu

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxPages bounds how far a chat is read back, 50 messages each.
const maxPages = 20

// lookUp searches a chat for a message of ours that was sent some time after since,
// that answers what it should and that the record does not know. "" = it is surely not there.
func (a *App) lookUp(ctx context.Context, to *target, since time.Time) (id string, err error) {
	query := url.Values{"container_id_type": {"chat"}, "container_id": {to.chatID}, "sort_type": {"ByCreateTimeAsc"}, "page_size": {"50"},
		"start_time": {strconv.FormatInt(since.Add(-time.Minute).Unix(), 10)},
		"end_time":   {strconv.FormatInt(since.Add(a.opts.Timing.Unknown+2*time.Minute).Unix(), 10)}}
	if idType(to.chatID) != "chat_id" {
		return "", errMayHaveBeenSent // which chat that is Feishu has not said
	}
	if to.thread {
		if to.threadID == "" {
			return "", errMayHaveBeenSent // the list of a chat has nothing of its threads
		}
		// Threads are listed without times.
		query = url.Values{"container_id_type": {"thread"}, "container_id": {to.threadID}, "sort_type": {"ByCreateTimeAsc"}, "page_size": {"50"}}
	}
	var ours []string
	for range maxPages {
		var out struct {
			Data struct {
				Items []struct {
					ID      string `json:"message_id"`
					At      string `json:"create_time"` // ms
					Deleted bool   `json:"deleted"`
					Parent  string `json:"parent_id"`
					Sender  struct {
						ID string `json:"id"`
					} `json:"sender"`
				} `json:"items"`
				More bool   `json:"has_more"`
				Next string `json:"page_token"`
			} `json:"data"`
		}
		if err := a.api.call(ctx, http.MethodGet, "/open-apis/im/v1/messages", query, nil, &out); err != nil {
			if c := classOf(err); (c == unknown || c == later) && a.opts.Now().Sub(since) < a.opts.Timing.GiveUp {
				return "", err
			}
			a.log.Warn("feishu does not let a chat be read back", "chat", to.chatID, "error", err)
			return "", errMayHaveBeenSent
		}
		for _, m := range out.Data.Items {
			at, _ := strconv.ParseInt(m.At, 10, 64) // what is no time is too early
			answers := m.Parent == "" || m.Parent == to.replyTo
			if m.Sender.ID == a.opts.AppID && answers && !m.Deleted && at >= since.Add(-time.Minute).UnixMilli() {
				ours = append(ours, m.ID)
			}
		}
		if !out.Data.More {
			return a.unknownOf(ctx, ours)
		}
		query.Set("page_token", out.Data.Next)
	}
	return "", errMayHaveBeenSent
}

// unknownOf returns the one message that the record does not know.
func (a *App) unknownOf(ctx context.Context, ids []string) (string, error) {
	known, err := a.opts.Record.KnownPieces(ctx, ids)
	if err != nil {
		return "", err
	}
	found := ""
	for _, id := range ids {
		switch {
		case known[id]:
		case found != "":
			return "", errMayHaveBeenSent // which of them?
		default:
			found = id
		}
	}
	return found, nil
}
