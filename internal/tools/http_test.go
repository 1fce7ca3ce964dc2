package tools_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/simplifiedchinese"

	"picobot/internal/netguard"
	"picobot/internal/tools"
)

// near lets tools reach servers on this machine.
func near(o tools.HTTPOptions) tools.HTTPOptions {
	o.Guard = netguard.New(netguard.Options{AllowPrivate: true})
	return o
}

func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

func request(t testing.TB, a args) tools.Result {
	t.Helper()
	return call(t, tools.HTTPRequest(near(tools.HTTPOptions{})), a)
}

func fetch(t testing.TB, a args) tools.Result {
	t.Helper()
	return call(t, tools.WebFetch(near(tools.HTTPOptions{})), a)
}

// echo answers with what it was sent.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s type=%s key=%s body=%s", r.Method, r.URL, r.Header.Get("Content-Type"), r.Header.Get("X-Key"), body)
}

func TestHTTPRequest_EachMethod_SendsWhatItWasGiven(t *testing.T) {
	url := serve(t, echo)
	for _, method := range []string{"GET", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "post"} {
		a := args{"method": method, "url": url + "/a?b=c", "headers": args{"x-key": "k"}}
		want := strings.ToUpper(method) + " /a?b=c type= key=k body="
		if strings.HasPrefix(strings.ToUpper(method), "P") {
			a["body"] = `{"n":1}`
			want = strings.ToUpper(method) + ` /a?b=c type=application/json key=k body={"n":1}`
		}
		got := requireOK(t, request(t, a))
		require.True(t, strings.HasPrefix(got, "200 OK\ncontent-type: text/plain; charset=utf-8\n"), got)
		require.True(t, strings.HasSuffix(got, "\n\n"+want), got)
	}
	got := requireOK(t, request(t, args{"method": "HEAD", "url": url}))
	require.NotContains(t, got, "body")
	require.Contains(t, requireOK(t, request(t, args{"method": "POST", "url": url, "body": "words"})), "type=text/plain; charset=utf-8")
	require.Contains(t, requireOK(t, request(t, args{"method": "POST", "url": url, "body": "a=b", "headers": args{"Content-Type": "application/x-www-form-urlencoded"}})), "urlencoded key= body=a=b")
}

func TestHTTPRequest_Effect_IsThatOfTheMethod(t *testing.T) {
	r := registry(t, tools.Options{}, tools.HTTPRequest(tools.HTTPOptions{}), tools.WebFetch(tools.HTTPOptions{}))
	for method, want := range map[string]tools.Effect{
		"GET": tools.ReadOnly, "get": tools.ReadOnly, "HEAD": tools.ReadOnly, "OPTIONS": tools.ReadOnly,
		"POST": tools.Outside, "PUT": tools.Outside, "PATCH": tools.Outside, "DELETE": tools.Outside, "delete": tools.Outside, "GETX": tools.Outside,
	} {
		require.Equal(t, want, r.Effect("http_request", fmt.Sprintf(`{"method":%q,"url":"https://example.com/"}`, method)), method)
	}
	require.Equal(t, tools.ReadOnly, r.Effect("web_fetch", `{"url":"https://example.com/"}`))
	require.Equal(t, "http_request: POST https://example.com/a?…", r.Summary("http_request", `{"method":"post","url":"https://example.com/a?key=secret","headers":{"Authorization":"secret"}}`, 0))
}

func TestHTTPRequest_BadArguments_SayWhatToDo(t *testing.T) {
	url := serve(t, echo)
	many := args{}
	for i := range 51 {
		many[fmt.Sprint("X-", i)] = "v"
	}
	for _, c := range []struct {
		a    args
		says string
	}{
		{args{"method": "TRACE", "url": url}, `the method "TRACE" is not sent`},
		{args{"method": "CONNECT", "url": url}, "is not sent"},
		{args{"method": "GET /x HTTP/1.1\r\n", "url": url}, "is not sent"},
		{args{"method": "GET", "url": url, "body": "x"}, "has no body"},
		{args{"method": "GET"}, `missing argument "url"`},
		{args{"method": "GET", "url": url, "headers": "x"}, `"headers" must be an object`},
		{args{"method": "GET", "url": url, "headers": args{"Host": "evil"}}, "belongs to the connection"},
		{args{"method": "POST", "url": url, "headers": args{"Transfer-Encoding": "chunked"}}, "belongs to the connection"},
		{args{"method": "POST", "url": url, "headers": args{"content-length": "0"}}, "belongs to the connection"},
		{args{"method": "GET", "url": url, "headers": args{"Connection": "X-Key"}}, "belongs to the connection"},
		{args{"method": "GET", "url": url, "headers": args{"Proxy-Authorization": "x"}}, "belongs to the connection"},
		{args{"method": "GET", "url": url, "headers": args{"X-A": "1", "x-a": "2"}}, "given twice"},
		{args{"method": "GET", "url": url, "headers": args{"X A": "1"}}, "no name of a header"},
		{args{"method": "GET", "url": url, "headers": args{"": "1"}}, "no name of a header"},
		{args{"method": "GET", "url": url, "headers": args{"X-A": "hunter2\r\nHost: evil"}}, "control characters"},
		{args{"method": "GET", "url": url, "headers": args{"X-A": strings.Repeat("x", 9000)}}, "too long"},
		{args{"method": "GET", "url": url, "headers": many}, "at most 50"},
		{args{"method": "GET", "url": "http://169.254.169.254/"}, "credentials"},
	} {
		result := request(t, c.a)
		requireError(t, result, c.says)
		require.NotContains(t, result.Content, "hunter2")
	}
}

func TestHTTPTools_PrivateAddresses_AreRefusedUnlessAllowed(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, u := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1)} {
		for _, result := range []tools.Result{
			call(t, tools.WebFetch(tools.HTTPOptions{}), args{"url": u}),
			call(t, tools.HTTPRequest(tools.HTTPOptions{}), args{"method": "POST", "url": u}),
		} {
			requireError(t, result, "loopback address, which may not be reached (an operator can allow it")
			require.NotContains(t, result.Content, "acted on", "nothing was sent")
		}
	}
	require.Zero(t, asked.Load())
}

func TestHTTPRequest_Redirects_AreFollowedOnlyWithoutEffects(t *testing.T) {
	var asked atomic.Int32
	target := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); echo(w, r) })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target+"/there", http.StatusTemporaryRedirect)
	})
	got := requireOK(t, request(t, args{"method": "POST", "url": url, "body": "x"}))
	require.True(t, strings.HasPrefix(got, "307 Temporary Redirect\n"), got)
	require.Contains(t, got, "location: "+target+"/there\n")
	require.Zero(t, asked.Load())

	got = requireOK(t, request(t, args{"method": "GET", "url": url, "headers": args{"X-Key": "secret", "Authorization": "secret", "Accept": "text/plain"}}))
	require.Contains(t, got, "final url: "+target+"/there\n")
	require.Contains(t, got, "key= body=", "what is for one host is not given to another")
}

func TestHTTPTools_RedirectsToForbiddenPlaces_AreRefused(t *testing.T) {
	for name, to := range map[string]string{
		"metadata": "http://169.254.169.254/latest/", "unspecified": "http://0.0.0.0/", "file": "file:///etc/passwd",
		"mapped": "http://[::ffff:a9fe:a9fe]/", "decimal": "http://2852039166/", "port": "http://example.com:25/", "user": "http://a:b@example.com/",
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		result := fetch(t, args{"url": url})
		require.True(t, result.Failed, "%s: %s", name, result.Content)
	}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	requireError(t, fetch(t, args{"url": url}), "redirects more than 10 times")
}

func TestHTTPTools_LongAnswers_AreReadToTheLimit(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 1000 {
			if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	})
	o := near(tools.HTTPOptions{MaxBytes: 5000})
	got := requireOK(t, call(t, tools.HTTPRequest(o), args{"method": "GET", "url": url}))
	require.Equal(t, 5000, strings.Count(got, "xxxxxxxxxx")*10)
	require.Contains(t, got, "[the answer is longer than the 5000 bytes that are read of one; the rest is missing]")
	require.Contains(t, requireOK(t, call(t, tools.WebFetch(o), args{"url": url})), "the rest is missing")
}

func TestHTTPTools_CompressedBomb_IsBoundedByWhatItUnpacksTo(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for range 100 {
		_, err := z.Write(make([]byte, 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(packed.Bytes())
	})
	result := fetch(t, args{"url": url})
	require.Contains(t, result.Content, "more than 2097152 bytes")
	require.Less(t, len(result.Content), 500)
}

func TestHTTPTools_AnotherPacking_IsNamed(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "\x8b\x02\x80hello\x03")
	})
	require.Contains(t, requireOK(t, fetch(t, args{"url": url})), "[text/plain, packed as br, 9 bytes: no text, so it is not shown]")
}

func TestHTTPTools_SlowServers_EndAtTheLimit(t *testing.T) {
	release := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/trickle" {
			_, _ = io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	o := near(tools.HTTPOptions{Timeout: 200 * time.Millisecond})
	for _, path := range []string{"/", "/trickle"} {
		requireError(t, call(t, tools.WebFetch(o), args{"url": url + path}), "no complete answer within 200ms (the operator sets tools.http.timeout_seconds)")
	}
	requireError(t, call(t, tools.HTTPRequest(o), args{"method": "POST", "url": url}), "may have arrived and been acted on")
}

func TestHTTPTools_WhenStopped_SayBywhom(t *testing.T) {
	for _, cause := range []error{tools.ErrCancelled, tools.ErrShutdown} {
		ctx, cancel := context.WithCancelCause(t.Context())
		url := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(cause); <-r.Context().Done() })
		r := registry(t, tools.Options{}, tools.WebFetch(near(tools.HTTPOptions{})))
		requireError(t, r.Run(ctx, tools.Call{}, "web_fetch", fmt.Sprintf(`{"url":%q}`, url)), cause.Error())
	}
}

func TestHTTPTools_ServersThatAreNotThere_AreExplained(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(echo))
	s.Close()
	result := request(t, args{"method": "POST", "url": s.URL + "/?key=hunter2", "headers": args{"Authorization": "hunter3"}, "body": "hunter4"})
	requireError(t, result, "the host does not take connections: ")
	require.NotContains(t, result.Content, "hunter")
	require.NotContains(t, result.Content, "acted on", "nothing was sent")
	requireError(t, fetch(t, args{"url": "http://does-not-exist.invalid/"}), "host")

	secure := httptest.NewTLSServer(http.HandlerFunc(echo))
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	requireError(t, fetch(t, args{"url": secure.URL}), "cannot prove who it is")

	broken := serve(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	requireError(t, request(t, args{"method": "DELETE", "url": broken}), "may have arrived and been acted on")
	require.NotContains(t, fetch(t, args{"url": broken}).Content, "acted on")
}

func TestHTTPRequest_Secrets_AreInNoLogAndNoResult(t *testing.T) {
	var log bytes.Buffer
	r := registry(t, tools.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, tools.HTTPRequest(near(tools.HTTPOptions{})))
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Set-Cookie", "session=hunter5") })
	for _, u := range []string{url, "http://127.0.0.1:1/", "http://169.254.169.254/"} {
		result := r.Run(t.Context(), tools.Call{}, "http_request", fmt.Sprintf(`{"method":"GET","url":%q,"headers":{"Authorization":"Bearer hunter2"}}`, u))
		require.NotContains(t, result.Content, "hunter")
	}
	require.NotContains(t, log.String(), "hunter")
}

func TestHTTPRequest_BinaryBody_IsNamedWithItsSize(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x89PNG\r\n\x1a\n\x00\x00")) })
	got := requireOK(t, request(t, args{"method": "GET", "url": url}))
	require.True(t, strings.HasSuffix(got, "[the body is no text (image/png, 10 bytes) and is not shown]"), got)
}

const articlePage = `<html><head><title>Harbour news</title><script>bad()</script></head><body><nav>Menu</nav><article><h1>Harbour news</h1><p>%s</p>
<p>More <a href="/more">here</a>.</p><table><tr><th>Ship</th><th>Day</th></tr><tr><td>Anna</td><td>Monday</td></tr></table><p>%s</p></article></body></html>`

func TestWebFetch_EachKindOfAnswer(t *testing.T) {
	paragraph := strings.Repeat("The boats came in late, heavy, and without a light, and nobody said why. ", 8)
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("<title>飞书</title><p>你好，世界")
	require.NoError(t, err)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		kind, body := "text/html; charset=utf-8", ""
		switch r.URL.Path {
		case "/page":
			body = fmt.Sprintf(articlePage, paragraph, paragraph)
		case "/moved":
			http.Redirect(w, r, "/page", http.StatusMovedPermanently)
			return
		case "/gbk":
			kind, body = "text/html; charset=gbk", gbk
		case "/json":
			kind, body = "application/json", `{"a": [1, 2]}`
		case "/text":
			kind, body = "text/plain", "just <b>text</b>"
		case "/pdf":
			kind, body = "application/pdf", "%PDF-1.7\x00"
		case "/empty":
		case "/scripts":
			body = "<script>make()</script>"
		default:
			w.WriteHeader(http.StatusNotFound)
			body = "<p>No such page here"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	})
	for _, path := range []string{"/page", "/moved"} {
		got := requireOK(t, fetch(t, args{"url": url + path}))
		require.True(t, strings.HasPrefix(got, "# Harbour news\n"+url+"/page\n\n"), got)
		require.Contains(t, got, "[here]("+url+"/more)")
		require.Contains(t, got, "| Anna | Monday |")
		require.NotContains(t, got, "bad()")
	}
	require.Equal(t, "# 飞书\n"+url+"/gbk\n\n你好，世界", requireOK(t, fetch(t, args{"url": url + "/gbk"})))
	require.Equal(t, url+"/json\n\n"+`{"a": [1, 2]}`, requireOK(t, fetch(t, args{"url": url + "/json"})))
	require.Equal(t, url+"/text\n\njust <b>text</b>", requireOK(t, fetch(t, args{"url": url + "/text"})))
	require.Equal(t, url+"/pdf\n\n[application/pdf, 9 bytes: no text, so it is not shown]", requireOK(t, fetch(t, args{"url": url + "/pdf"})))
	require.Equal(t, url+"/empty\n\n[the page is empty]", requireOK(t, fetch(t, args{"url": url + "/empty"})))
	require.Contains(t, requireOK(t, fetch(t, args{"url": url + "/scripts"})), "perhaps scripts make it")
	requireError(t, fetch(t, args{"url": url + "/none"}), "the server answered 404 Not Found")
	require.Contains(t, fetch(t, args{"url": url + "/none"}).Content, "No such page here")
	got := requireOK(t, fetch(t, args{"url": url + "/text", "max_chars": 10}))
	require.Regexp(t, `\n\[cut after 10 characters of \d+\]$`, got)
	requireError(t, fetch(t, args{"url": url, "max_chars": -1}), "max_chars")
}

func TestHTTPTools_AtTheSameTime_ShareNothing(t *testing.T) {
	url := serve(t, echo)
	tool := tools.HTTPRequest(near(tools.HTTPOptions{}))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			got := call(t, tool, args{"method": "POST", "url": url, "body": fmt.Sprint("n", i)})
			if !strings.HasSuffix(got.Content, fmt.Sprint("body=n", i)) {
				t.Errorf("request %d: %s", i, got.Content)
			}
		})
	}
	group.Wait()
}
