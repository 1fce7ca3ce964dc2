package feishu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"picobot/internal/brief"
	"picobot/internal/chat"
	"picobot/store"
)

const (
	maxImage  = 20 << 20 // bytes
	maxFile   = 32 << 20
	maxQuote  = 4000 // characters
	maxMerged = 100  // messages
)

// Prepare implements activities.Preparer: it fetches the files of a message, what it
// quotes, and what was forwarded with it.
func (a *App) Prepare(ctx context.Context, m store.InboundMessage, last bool) (string, []chat.MediaRef, error) {
	d := detailOf(m.Metadata)
	p := preparation{app: a, last: last, content: m.Content}
	if d.ParentID != "" {
		if err := p.quote(ctx, m, d.ParentID); err != nil {
			return "", nil, err
		}
	}
	if d.Merged {
		if err := p.merged(ctx, m.ExternalID); err != nil {
			return "", nil, err
		}
	}
	for _, att := range d.Attachments {
		if err := p.attach(ctx, m.ExternalID, att); err != nil {
			return "", nil, err
		}
	}
	return p.content, p.media, nil
}

// preparation is one message being made ready for a model, in the model's words.
type preparation struct {
	app     *App
	last    bool
	content string
	media   []chat.MediaRef
}

// missing turns an error into a line about what is missing, unless trying again may help.
func (p *preparation) missing(ctx context.Context, what string, err error) error {
	c := classOf(err)
	if errors.Is(err, errTooLarge) {
		c = content
	}
	if ctx.Err() != nil || (!p.last && (c == unknown || c == later)) {
		return err
	}
	p.app.log.Warn("something that belongs to a message cannot be fetched", "what", what, "error", err)
	p.add(fmt.Sprintf("[%s could not be fetched: %v]", what, err))
	return nil
}

func (p *preparation) add(line string) { p.content = strings.TrimSpace(p.content + "\n" + line) }

// attach fetches one file.
func (p *preparation) attach(ctx context.Context, messageID string, att attachment) error {
	kind, most := "file", int64(maxFile)
	if att.Kind == "image" {
		kind, most = "image", maxImage
	}
	what := "the " + att.Kind
	if att.Name != "" {
		what += " " + att.Name
	}
	data, name, err := p.app.api.download(ctx, messageID, att.Key, kind, most)
	if err != nil {
		return p.missing(ctx, what, err)
	}
	if att.Name == "" {
		att.Name = name
	}
	if att.Kind == "image" {
		ref, bad, err := p.app.opts.KeepImage(data, att.Name)
		if err != nil {
			return err
		}
		if bad == nil {
			p.media = append(p.media, ref)
			return nil
		}
		what = "a file sent as an image"
	}
	if att.Name == "" {
		att.Name = cleanName(att.Key)
	}
	path, err := p.app.opts.KeepFile(messageID, att.Name, bytes.NewReader(data))
	if err != nil {
		return p.missing(ctx, what, err)
	}
	p.add(fmt.Sprintf("[%s is saved as %s]", what, path))
	return nil
}

// fetched is a message as Feishu's API returns it.
type fetched struct {
	ID      string `json:"message_id"`
	Upper   string `json:"upper_message_id"`
	Kind    string `json:"msg_type"`
	Deleted bool   `json:"deleted"`
	Body    struct {
		Content string `json:"content"`
	} `json:"body"`
	Sender struct {
		ID   string `json:"id"`
		Kind string `json:"sender_type"`
	} `json:"sender"`
	Mentions []struct {
		Key  string `json:"key"`
		Name string `json:"name"`
	} `json:"mentions"`
}

func (m fetched) said() said {
	s := readContent(m.Kind, m.Body.Content)
	var pairs []string
	for i := len(m.Mentions) - 1; i >= 0; i-- { // the longer keys come later
		if who := m.Mentions[i]; who.Key != "" {
			pairs = append(pairs, who.Key, "@"+who.Name)
		}
	}
	s.text = strings.NewReplacer(pairs...).Replace(s.text)
	return s
}

func (a *App) get(ctx context.Context, id string) ([]fetched, error) {
	var out struct {
		Data struct {
			Items []fetched `json:"items"`
		} `json:"data"`
	}
	err := a.api.call(ctx, http.MethodGet, "/open-apis/im/v1/messages/"+url.PathEscape(id), nil, nil, &out)
	return out.Data.Items, err
}

// quote puts the message that is answered before what was said. What the record has of
// it is better than what Feishu gives back: cards lose their text there.
func (p *preparation) quote(ctx context.Context, m store.InboundMessage, parentID string) error {
	words, own, err := p.app.opts.Record.SaidBefore(ctx, m.Channel, m.ChatID, parentID)
	if err == nil {
		p.putQuote(words, own)
		return nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	items, err := p.app.get(ctx, parentID)
	if err != nil {
		return p.missing(ctx, "the quoted message", err)
	}
	if len(items) == 0 || items[0].Deleted {
		return p.missing(ctx, "the quoted message", &Error{Status: http.StatusBadRequest, Code: 230011, Msg: "it was taken back"})
	}
	s := items[0].said()
	p.putQuote(s.text, items[0].Sender.Kind == "app" && items[0].Sender.ID == p.app.opts.AppID)
	for _, att := range s.attachments {
		if err := p.attach(ctx, parentID, att); err != nil {
			return err
		}
	}
	return nil
}

func (p *preparation) putQuote(words string, own bool) {
	of := "a message"
	if own {
		of = "your message"
	}
	p.content = fmt.Sprintf("[in reply to %s:]\n> %s\n\n%s", of, strings.ReplaceAll(brief.Cut(strings.TrimSpace(words), maxQuote), "\n", "\n> "), p.content)
}

// merged adds the messages that were forwarded together.
func (p *preparation) merged(ctx context.Context, id string) error {
	items, err := p.app.get(ctx, id)
	if err != nil {
		return p.missing(ctx, "what was forwarded", err)
	}
	var lines []string
	for _, m := range items {
		if m.ID == id || m.Upper == "" {
			continue
		}
		if len(lines) == maxMerged {
			lines = append(lines, "[more messages are left out]")
			break
		}
		lines = append(lines, m.Sender.ID+": "+m.said().text)
	}
	if text := strings.Join(lines, "\n"); len(text) > maxText {
		p.add(strings.ToValidUTF8(text[:maxText], "") + "\n[the rest is left out]")
	} else {
		p.add(text)
	}
	return nil
}
