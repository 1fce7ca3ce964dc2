package fakefeishu

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var (
	tableRule   = regexp.MustCompile(`(?m)^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)+\|?\s*$`)
	remoteImage = regexp.MustCompile(`!\[[^\]]*\]\((https?:|/|\.)`)
	atTag       = regexp.MustCompile(`<at\s+(id|user_id)\s*=\s*"?([^\s">]*)`)
)

func cardFailed(sub int, what string) *apiError {
	return &apiError{code: 230099, msg: fmt.Sprintf("Failed to create card content, ext=ErrCode: %d; ErrMsg: %s; ErrorValue: ; ", sub, what)}
}

// check says what is wrong with a content, as Feishu does.
func (s *Server) check(kind, content string) *apiError {
	if !json.Valid([]byte(content)) {
		return &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=content is not a string in json format."}
	}
	switch kind {
	case "text":
		var t struct{ Text string }
		_ = json.Unmarshal([]byte(content), &t)
		if strings.TrimSpace(t.Text) == "" {
			return &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=text can't be empty."}
		}
		if len(content) > 150<<10 {
			return &apiError{code: 230025, msg: "The length of the message content reaches its limit."}
		}
	case "post":
		return checkPost(content)
	case "interactive":
		return s.checkCard(content)
	default:
		return &apiError{code: 230054, msg: "This operation is not supported for this message type."}
	}
	return nil
}

func checkPost(content string) *apiError {
	if len(content) > 30<<10 {
		return &apiError{code: 230025, msg: "The length of the message content reaches its limit."}
	}
	var languages map[string]struct {
		Title   string
		Content [][]struct {
			Tag, Text string
		}
	}
	bad := &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=post content is invalid."}
	if json.Unmarshal([]byte(content), &languages) != nil || len(languages) == 0 {
		return bad
	}
	for _, l := range languages {
		if len(l.Content) == 0 {
			return bad
		}
		for _, line := range l.Content {
			for _, e := range line {
				switch e.Tag {
				case "text", "a", "at", "img", "md", "code_block", "hr", "emotion":
				default:
					return bad
				}
				if (e.Tag == "text" || e.Tag == "md") && remoteImage.MatchString(e.Text) {
					return &apiError{code: 230001, msg: "Your request contains an invalid request parameter, ext=invalid image key."}
				}
			}
		}
	}
	return nil
}

func (s *Server) checkCard(content string) *apiError {
	if len(content) > 30<<10 {
		return &apiError{code: 230025, msg: "The length of the message content reaches its limit."}
	}
	var card struct {
		Schema string
		Config struct {
			UpdateMulti *bool `json:"update_multi"`
		}
		Body struct {
			Elements []struct {
				Tag     string
				Content string
				Text    struct{ Tag, Content string }
			}
		}
	}
	if json.Unmarshal([]byte(content), &card) != nil || card.Schema != "2.0" {
		return cardFailed(200621, "parse card json err")
	}
	if card.Config.UpdateMulti == nil || !*card.Config.UpdateMulti {
		return cardFailed(300302, "update_multi must be true")
	}
	if len(card.Body.Elements) == 0 {
		return cardFailed(200621, "the card has no element")
	}
	if len(card.Body.Elements) > 200 {
		return cardFailed(300305, "element exceeds the limit")
	}
	tables := 0
	for _, e := range card.Body.Elements {
		switch e.Tag {
		case "markdown":
			if strings.TrimSpace(e.Content) == "" {
				return cardFailed(200621, "markdown is empty")
			}
			if remoteImage.MatchString(e.Content) {
				return cardFailed(200570, "invalid image keys")
			}
			for _, at := range atTag.FindAllStringSubmatch(e.Content, -1) {
				if at[2] != "all" && !strings.HasPrefix(at[2], "ou_") {
					return cardFailed(100290, "at user is invalid")
				}
			}
			tables += len(tableRule.FindAllString(e.Content, -1))
		case "div", "hr", "column_set", "collapsible_panel":
		default:
			return cardFailed(200861, "unsupported tag "+e.Tag)
		}
	}
	if tables > s.config.MaxTables {
		return cardFailed(11310, "card table number over limit")
	}
	return nil
}
