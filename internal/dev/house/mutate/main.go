// Command mutate measures whether the tests of a package notice mistakes: it
// removes one random statement at a time and runs the package's tests. A mutant
// that they pass has survived: nothing tests that statement.
//
//	go run ./internal/dev/house/mutate [-n 30] [-seed 1] [-timeout 3m] [-p 1] ./runner
//
// The files of the package are not touched: mutants are overlays in a temporary
// directory. Definitions (x := y) are never removed, as others need them, and a
// mutant that does not compile does not count. It runs no other package's tests.
//
// gremlins 0.6.0 removes no statements: it changes operators, and regards the conditions of cases for code that no
// test reaches.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	n := flag.Int("n", 30, "number of mutants")
	seed := flag.Uint64("seed", 1, "seed of the choice of statements")
	timeout := flag.Duration("timeout", 3*time.Minute, "time limit of one run of the tests; a mutant that exceeds it is caught")
	parallel := flag.Int("p", 1, "number of mutants tested in parallel")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := errors.New("usage: mutate [flags] PACKAGE")
	if flag.NArg() == 1 {
		err = mutate(ctx, flag.Arg(0), *n, *seed, *timeout, max(*parallel, 1))
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// statement is one that can be removed.
type statement struct {
	file       string // absolute
	start, end int    // offsets
	line       int
}

func mutate(ctx context.Context, pkg string, n int, seed uint64, timeout time.Duration, parallel int) error {
	all, err := statements(ctx, pkg)
	if err != nil {
		return err
	}
	if out, err := run(ctx, "go", "test", "-timeout", timeout.String(), pkg); err != nil {
		return fmt.Errorf("the tests fail without any mutant: %w\n%s", err, out)
	}
	tmp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	choice := rand.New(rand.NewPCG(seed, 0)).Perm(len(all)) //nolint:gosec // nothing secret depends on it
	s := score{want: n}
	var workers sync.WaitGroup
	for w := range parallel {
		workers.Go(func() {
			for i := w; i < len(choice) && ctx.Err() == nil && !s.full(); i += parallel {
				m := all[choice[i]]
				caught, text, err := test(ctx, filepath.Join(tmp, fmt.Sprint(i)), pkg, m, timeout)
				if ctx.Err() == nil {
					s.add(m, caught, text, err)
				}
			}
		})
	}
	workers.Wait()
	fmt.Printf("%d of %d mutants caught (%d statements, %d did not compile, seed %d)\n", s.caught, s.tested, len(all), s.invalid, seed)
	return errors.Join(s.err, ctx.Err())
}

// score counts mutants. It is safe for concurrent use.
type score struct {
	mu                            sync.Mutex
	want, tested, caught, invalid int
	err                           error
}

func (s *score) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tested >= s.want || s.err != nil
}

// errInvalid is a mutant that does not compile.
var errInvalid = errors.New("does not compile")

func (s *score) add(m statement, caught bool, text string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	verdict := "SURVIVED"
	switch {
	case errors.Is(err, errInvalid):
		s.invalid++
		return
	case err != nil:
		s.err = err
		return
	case s.tested >= s.want:
		return
	case caught:
		verdict = "caught"
		s.caught++
	}
	s.tested++
	fmt.Printf("%-8s %s:%d: %s\n", verdict, filepath.Base(m.file), m.line, text)
}

// test runs the package's tests without a statement, whose first line it
// returns.
func test(ctx context.Context, dir, pkg string, m statement, timeout time.Duration) (caught bool, text string, err error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return false, "", err
	}
	text, _, _ = strings.Cut(string(src[m.start:m.end]), "\n")
	for i := m.start; i < m.end; i++ {
		if src[i] != '\n' { // so that lines keep their numbers
			src[i] = ' '
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: filepath.Join(dir, "mutant.go")}})
	if err != nil {
		return false, text, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return false, text, err
	}
	for name, data := range map[string][]byte{"mutant.go": src, "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return false, text, err
		}
	}
	overlaid := "-overlay=" + filepath.Join(dir, "overlay.json")
	out, err := run(ctx, "go", "test", overlaid, "-failfast", "-vet=off", "-timeout", timeout.String(), pkg)
	if strings.Contains(out, "[build failed]") {
		return false, text, errInvalid
	}
	return err != nil, text, nil
}

// statements lists those of a package's files, without its tests.
func statements(ctx context.Context, pkg string) ([]statement, error) {
	out, err := run(ctx, "go", "list", "-f", `{{.Dir}}{{"\n"}}{{join .GoFiles "\n"}}`, pkg)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w\n%s", pkg, err, out)
	}
	lines := strings.Fields(out)
	var all []statement
	fset := token.NewFileSet()
	for _, name := range lines[1:] {
		file := filepath.Join(lines[0], name)
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			var list []ast.Stmt
			switch n := n.(type) {
			case *ast.BlockStmt:
				list = n.List
			case *ast.CaseClause:
				list = n.Body
			case *ast.CommClause:
				list = n.Body
			}
			for _, s := range list {
				if removable(s) {
					start, end := fset.Position(s.Pos()), fset.Position(s.End())
					all = append(all, statement{file: file, start: start.Offset, end: end.Offset, line: start.Line})
				}
			}
			return true
		})
	}
	return all, nil
}

func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.DeclStmt, *ast.EmptyStmt, *ast.CaseClause, *ast.CommClause:
		return false
	default:
		return true
	}
}

// run runs a command and returns what it printed.
func run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}
