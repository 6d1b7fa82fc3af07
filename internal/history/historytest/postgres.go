// Package historytest starts a PostgreSQL server for tests: Debian's, on a socket
// and a data folder of its own.
package historytest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// superuser owns every database; the socket's folder lets in the test alone.
const superuser = "assay"

// settings make a database in a tenth of the time; Durable takes them back.
const settings = "\nfsync = off\n"

var errNotInstalled = errors.New("PostgreSQL is not installed: apt-get install postgresql")

var shared struct {
	main   bool
	once   sync.Once
	server *server
	err    error
	names  atomic.Int64
}

// Main runs a package's tests and stops the server, if a test started one.
func Main(m *testing.M) int {
	shared.main = true
	defer func() {
		if shared.server != nil {
			shared.server.stop()
		}
	}()
	return m.Run()
}

// Postgres gives the URL of a new, empty database. It skips the test, and says so
// on standard error, where PostgreSQL is not installed. The package's TestMain
// must go through Main.
func Postgres(tb testing.TB) string {
	tb.Helper()
	if !shared.main {
		tb.Fatal("historytest.Postgres without historytest.Main would leave a server behind")
	}
	shared.once.Do(func() { shared.server, shared.err = start() })
	if errors.Is(shared.err, errNotInstalled) {
		fmt.Fprintf(os.Stderr, "\n*** %s IS NOT TESTED ON POSTGRESQL: %v\n\n", tb.Name(), shared.err)
		tb.Skip(shared.err)
	}
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	name := fmt.Sprintf("test_%d", shared.names.Add(1))
	if err := shared.server.create(name); err != nil {
		tb.Fatalf("make the database %s: %v", name, err)
	}
	return shared.server.url(name)
}

// Durable lets the server of a database that Postgres gave wait for the disk, as
// one in use does.
func Durable(tb testing.TB, url string) {
	tb.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, query := range []string{"ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, query); err != nil {
			tb.Fatalf("%s: %v", query, err)
		}
	}
}

type server struct {
	folder string
	stop   func()
}

func (s *server) url(database string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s", superuser, database, s.folder)
}

func (s *server) create(name string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	// As on most servers, "a" comes before "B"; PostgreSQL 14 has no such word for it.
	query := "CREATE DATABASE " + name
	if _, err = conn.Exec(ctx, query+" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"); err != nil {
		_, err = conn.Exec(ctx, query)
	}
	return err
}

// start makes a data folder and starts a server on it.
func start() (*server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	as, err := owner()
	if err != nil {
		return nil, err
	}
	// Not below TMPDIR: a socket's name has 107 characters at most.
	folder, err := os.MkdirTemp("/tmp", "assay-pg-")
	if err != nil {
		return nil, err
	}
	s, err := startIn(folder, bin, as)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, nil
}

func startIn(folder, bin string, as *syscall.Credential) (*server, error) {
	if as != nil {
		if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(folder, "data")
	initdb := command(as, folder, filepath.Join(bin, "initdb"),
		"-D", data, "-U", superuser, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := appendTo(filepath.Join(data, "postgresql.conf"), settings); err != nil {
		return nil, err
	}
	postgres := command(as, folder, filepath.Join(bin, "postgres"), "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+folder)
	log, err := postgres.StderrPipe()
	if err != nil {
		return nil, err
	}
	ended, err := run(postgres)
	if err != nil {
		return nil, err
	}
	stop := func() {
		_ = postgres.Process.Signal(syscall.SIGINT) // disconnects whoever is there
		<-ended
		_ = os.RemoveAll(folder)
	}
	if err := ready(log); err != nil {
		stop()
		return nil, err
	}
	return &server{folder: folder, stop: stop}, nil
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// run starts a process that ends with this one, however this one ends: Linux
// watches the thread that started it, which is therefore kept.
func run(c *exec.Cmd) (ended <-chan struct{}, err error) {
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		endWithParent(c.SysProcAttr)
		err := c.Start()
		started <- err
		if err == nil {
			_, _ = c.Process.Wait()
		}
	}()
	return done, <-started
}

// ready reads the server's log until it says that it is.
func ready(log io.Reader) error {
	lines := bufio.NewScanner(log)
	var said []string
	for lines.Scan() {
		if strings.Contains(lines.Text(), "ready to accept connections") {
			go func() { _, _ = io.Copy(io.Discard, log) }() // until the server ends
			return nil
		}
		said = append(said, lines.Text())
	}
	return fmt.Errorf("postgres did not start: %s", strings.Join(said, "\n"))
}

func command(as *syscall.Credential, folder, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = folder
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return c
}

// binaries finds the newest server.
func binaries() (string, error) {
	if found, err := exec.LookPath("postgres"); err == nil {
		if found, err = filepath.EvalSymlinks(found); err == nil {
			return filepath.Dir(found), nil
		}
	}
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(folders) == 0 {
		return "", errNotInstalled
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(folders, func(a, b string) int { return version(a) - version(b) })), nil
}

// owner is whom the server runs as where the test is root, whom PostgreSQL refuses.
func owner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}
