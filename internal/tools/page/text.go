package page

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Read reads at most limit bytes. more says that there were others.
func Read(r io.Reader, limit int64) (data []byte, more bool, err error) {
	data, err = io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], true, nil
	}
	return data, false, err
}

// MediaType is the type that a Content-Type header names, in lower case, or, where
// it names none, the one that the data looks like.
func MediaType(contentType string, data []byte) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && media == "" { // a broken parameter leaves the type usable
		media, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	return media
}

// IsHTML reports whether a media type is that of a page.
func IsHTML(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

// Text decodes data. It reports false for what is no text.
func Text(contentType string, data []byte) (string, bool) {
	if len(data) == 0 {
		return "", true
	}
	media := MediaType(contentType, data)
	if !textual(media) {
		// Servers that do not know a file's type call it this.
		if media != "application/octet-stream" || !validUTF8(data) {
			return "", false
		}
	}
	text := decode(contentType, media, data)
	if strings.ContainsRune(text, 0) {
		return "", false
	}
	return text, true
}

func decode(contentType, media string, data []byte) string {
	encoding, _, certain := charset.DetermineEncoding(data, contentType)
	// The guess looks at the first 1024 bytes only, and takes what has no other
	// letters there for Windows' Latin. What no charset is declared for and reads as
	// UTF-8 is UTF-8; JSON always is (RFC 8259).
	if !strings.HasSuffix(media, "json") && (certain || !validUTF8(data)) {
		if decoded, err := encoding.NewDecoder().Bytes(data); err == nil {
			data = decoded
		}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// validUTF8 forgives a character that was cut at the end.
func validUTF8(data []byte) bool {
	for i := len(data) - 1; i >= max(0, len(data)-utf8.UTFMax); i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				data = data[:i]
			}
			break
		}
	}
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

func textual(media string) bool {
	kind, subtype, _ := strings.Cut(media, "/")
	if kind == "text" || strings.HasSuffix(subtype, "+json") || strings.HasSuffix(subtype, "+xml") || strings.HasSuffix(subtype, "+yaml") {
		return true
	}
	if kind != "application" {
		return false
	}
	switch strings.TrimPrefix(subtype, "x-") {
	case "json", "xml", "javascript", "ecmascript", "yaml", "toml", "www-form-urlencoded", "ndjson", "jsonlines", "json-seq",
		"sh", "httpd-php", "sql", "graphql", "typescript", "tex", "latex", "subrip", "pem-file", "xml-dtd", "manifest":
		return true
	}
	return false
}
