package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// serving serves until the test ends or stop is called, which gives what Serve gave.
func serving(t *testing.T, h http.Handler, config *tls.Config) (address string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listener, h, config) }()
	stop = func() error {
		cancel()
		err := <-done
		done <- err
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return listener.Addr().String(), stop
}

func TestServeOverTLSAndWithout(t *testing.T) {
	lent := httptest.NewTLSServer(nil) // for its certificate
	defer lent.Close()
	for name, config := range map[string]*tls.Config{"http": nil, "https": {Certificates: lent.TLS.Certificates}} {
		t.Run(name, func(t *testing.T) {
			address, stop := serving(t, newWorld(t).handler, config)
			r, err := http.NewRequestWithContext(t.Context(), "GET", name+"://"+address+"/healthz", nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := lent.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = got.Body.Close()
			if got.StatusCode != 200 {
				t.Errorf("the answer is %d", got.StatusCode)
			}
			if err := stop(); err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func TestServeSaysWhyItEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if err := Serve(t.Context(), listener, http.NotFoundHandler(), nil); !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("it ended with %v", err)
	}
}

func TestAServerThatStopsAnswersWhoWaits(t *testing.T) {
	w := newWorld(t)
	waiting := make(chan struct{}, 1)
	w.onFind = func(int) {
		select {
		case waiting <- struct{}{}:
		default:
		}
	}
	address, stop := serving(t, w.handler, nil)
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+address+suitePath+"?wait=60s", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer all")
	answered := make(chan *http.Response, 1)
	go func() {
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
		}
		answered <- got
	}()
	<-waiting
	begin := time.Now()
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if got := <-answered; got != nil {
		defer func() { _ = got.Body.Close() }()
		body, _ := io.ReadAll(got.Body)
		if got.StatusCode != 202 || !bytes.Contains(body, []byte(newID)) {
			t.Errorf("who waited is answered %d %s", got.StatusCode, body)
		}
	}
	if took := time.Since(begin); took > shutdownTimeout {
		t.Errorf("it took %s", took)
	}
}

// pipes is a listener whose connections are in memory, so that they live in fake time.
type pipes struct {
	accept chan net.Conn
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn)} }

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.accept
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.accept) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// overPipe writes the text to a server in fake time, and gives what came back
// and after how long.
func overPipe(t *testing.T, w *world, text string) (answer string, took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	listener, done := newPipes(), make(chan error, 1)
	go func() { done <- Serve(ctx, listener, w.handler, nil) }()
	client, served := net.Pipe()
	listener.accept <- served
	begin := time.Now()
	if _, err := io.WriteString(client, text); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("HTTP/1.1 200"))
	n, _ := io.ReadFull(client, line)
	took = time.Since(begin)
	_ = client.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return string(line[:n]), took
}

func TestTheBoundsOfAConnection(t *testing.T) {
	const head = " HTTP/1.1\r\nHost: assay\r\nAuthorization: Bearer all\r\n"
	for _, test := range []struct {
		name, text, answer string
		took               time.Duration
	}{
		{"an answer is held longer than a body may take", "POST " + suitePath + "?wait=60s" + head + "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 202", time.Minute},
		{"headers that do not end", "GET " + historyPath + head, "", headerTimeout},
		{"a body that does not come", "POST " + suitePath + head + "Content-Length: 2\r\n\r\n{", "HTTP/1.1 400", bodyTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer, took := overPipe(t, newWorld(t), test.text)
				if answer != test.answer || took != test.took {
					t.Errorf("the answer is %q after %s, want %q after %s", answer, took, test.answer, test.took)
				}
			})
		})
	}
}

func TestThe100MiBOverTheWire(t *testing.T) {
	address, _ := serving(t, newWorld(t).handler, nil)
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	// The headers alone: the answer comes without any of the body.
	if _, err := io.WriteString(connection, "POST "+suitePath+" HTTP/1.1\r\nHost: assay\r\nAuthorization: Bearer all\r\nContent-Length: 104857600\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("HTTP/1.1 413"))
	if _, err := io.ReadFull(connection, answer); err != nil || string(answer) != "HTTP/1.1 413" {
		t.Errorf("the answer is %q, %v", answer, err)
	}
}

// slowly serves like Serve, with less patience, so that a test need not wait long.
func slowly(t *testing.T, config *tls.Config) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	srv := NewHTTPServer(newWorld(t).handler)
	if srv.ReadHeaderTimeout != headerTimeout || srv.ReadTimeout != requestTimeout || srv.WriteTimeout != requestTimeout || srv.IdleTimeout != idleTimeout {
		t.Errorf("a server is bounded by %s, %s, %s, %s", srv.ReadHeaderTimeout, srv.ReadTimeout, srv.WriteTimeout, srv.IdleTimeout)
	}
	srv.ReadHeaderTimeout, srv.IdleTimeout = 50*time.Millisecond, 50*time.Millisecond
	srv.ErrorLog = errorLog(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, ctx, srv, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// Who holds a connection without asking anything is let go: a slow loris, a client
// of TLS that says nothing, one that stays after its answer.
func TestConnectionsThatAreHeldOpen(t *testing.T) {
	lent := httptest.NewTLSServer(nil) // for its certificate
	defer lent.Close()
	secure := &tls.Config{Certificates: lent.TLS.Certificates}
	for name, test := range map[string]struct {
		config *tls.Config
		first  string
		more   string
	}{
		"a header, byte by byte":  {nil, "GET /healthz HTTP/1.1\r\nHost: assay\r\nX: ", "a"},
		"a request line":          {nil, "GET /", "a"},
		"nothing at all":          {nil, "", ""},
		"no handshake":            {secure, "", ""},
		"half a handshake":        {secure, "\x16\x03\x01\x02\x00\x01", ""},
		"idle after an answer":    {nil, "GET /healthz HTTP/1.1\r\nHost: assay\r\n\r\n", ""},
		"a hundred KiB of header": {nil, "GET /healthz HTTP/1.1\r\nHost: assay\r\nX: " + strings.Repeat("a", 100<<10) + "\r\n\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			connection, err := net.Dial("tcp", slowly(t, test.config))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = connection.Close() }()
			if err := connection.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(connection, test.first)
			var said []byte
			closed := make(chan error, 1)
			go func() {
				var err error
				said, err = io.ReadAll(connection)
				closed <- err
			}()
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					if test.more != "" {
						_, _ = io.WriteString(connection, test.more)
					}
					continue
				case err = <-closed:
				}
				break
			}
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Error("the connection was kept")
			}
			if strings.Contains(name, "KiB") && !bytes.HasPrefix(said, []byte("HTTP/1.1 431")) {
				t.Errorf("it is answered %q", said)
			}
		})
	}
}

func TestServeSpeaksOnlyWhatItMust(t *testing.T) {
	lent := httptest.NewTLSServer(nil) // for its certificate
	defer lent.Close()
	address, _ := serving(t, newWorld(t).handler, &tls.Config{
		Certificates: lent.TLS.Certificates, MinVersion: tls.VersionTLS10, NextProtos: []string{"h2", "http/1.1"},
	})
	trust := lent.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for name, test := range map[string]struct {
		client   *tls.Config
		refused  bool
		protocol string
	}{
		"TLS 1.1":  {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, true, ""},
		"TLS 1.2":  {&tls.Config{MaxVersion: tls.VersionTLS12}, false, ""},
		"TLS 1.3":  {&tls.Config{MinVersion: tls.VersionTLS13}, false, ""},
		"HTTP/2":   {&tls.Config{NextProtos: []string{"h2", "http/1.1"}}, false, "http/1.1"},
		"only h2":  {&tls.Config{NextProtos: []string{"h2"}}, true, ""},
		"HTTP/1.1": {&tls.Config{NextProtos: []string{"http/1.1"}}, false, "http/1.1"},
	} {
		config := test.client.Clone()
		config.RootCAs, config.ServerName = trust, "example.com"
		connection, err := tls.Dial("tcp", address, config)
		if (err != nil) != test.refused {
			t.Errorf("%s: got %v, refused is %t", name, err, test.refused)
		}
		if err == nil {
			if got := connection.ConnectionState().NegotiatedProtocol; got != test.protocol {
				t.Errorf("%s: they speak %q", name, got)
			}
			_ = connection.Close()
		}
	}
}
