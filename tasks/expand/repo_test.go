package expand

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
)

// places returns where a plan's jobs work, as lines of a list, with the directory
// of the manifest as $DIR.
func places(p *tasks.Plan, dir string) []string {
	var all []string
	for _, j := range p.Jobs {
		all = append(all, strings.ReplaceAll(j.Repo.Location(), dir, "$DIR"))
	}
	return all
}

// loadIn loads the manifest m.yaml, with one task on the repositories, from a
// directory with some files.
func loadIn(t *testing.T, repos string, files map[string]string) (p *tasks.Plan, dir string, err error) {
	t.Helper()
	all := map[string]string{"m.yaml": oneTask + "repos: " + repos + "\n"}
	maps.Copy(all, files)
	dir = dirWith(t, all)
	p, err = Load(t.Context(), []string{"m.yaml"}, options(dir))
	return p, dir, err
}

func TestRepositoriesAreFoundInEveryWay(t *testing.T) {
	files := map[string]string{
		"one/.git/": "", "two/.git": "gitdir: ../one/.git/worktrees/two", "plain/": "", "deep/a/b/three/.git/": "", "deep/a/four/.git/": "", ".hidden/five/.git/": "",
		"sp ace/#x/": "", "mono/.git/hooks/": "", "mono/services/api/": "", "mono/services/web/": "", "mono/libs/own/.git/": "", "mono/libs/common/": "",
		"list.txt": "\ufeff# all\r\n\r\none\r\n  ./two   ref=v1.0   # the second\r\ncopy: plain # a directory\n\"sp ace/#x\" ref=a#b\nsp ace\n" +
			"https://H.example/Acme/Api.git/ ref=next\ngit@h.example:acme/web.git\n",
	}
	for _, tt := range []struct {
		name  string
		repos string
		want  []string
	}{
		{"a path, a copy and a url", `[{path: one, ref: main}, {copy: plain}, {url: "HTTPS://h.example/a/b"}]`, []string{"$DIR/one ref=main", "copy:$DIR/plain", "https://h.example/a/b"}},
		{"a list", `[{file: list.txt}]`, []string{
			"$DIR/one", "$DIR/two ref=v1.0", "copy:$DIR/plain", `"$DIR/sp ace/#x" ref=a#b`, `"$DIR/sp ace"`, "https://H.example/Acme/Api.git/ ref=next", "git@h.example:acme/web.git",
		}},
		{"some of a list", `[{file: list.txt, include: ["acme/*", "Acme/*", t*, one], exclude: [two]}]`, []string{"$DIR/one", "https://H.example/Acme/Api.git/ ref=next", "git@h.example:acme/web.git"}},
		{"a ref for all that have none", `[{file: list.txt, ref: dev, exclude: ["sp*", "sp*/**", plain, web]}]`, []string{"$DIR/one ref=dev", "$DIR/two ref=v1.0", "https://H.example/Acme/Api.git/ ref=next"}},
		{"a pattern for directories", `[{glob: "*"}]`, []string{"$DIR/mono", "$DIR/one", "$DIR/two"}},
		{"a pattern with a directory above", `[{glob: "../shop/t*", ref: main}]`, []string{"$DIR/two ref=main"}},
		{"a pattern of any depth", `[{glob: "**/**"}]`, []string{"$DIR/deep/a/b/three", "$DIR/deep/a/four", "$DIR/mono", "$DIR/mono/libs/own", "$DIR/one", "$DIR/two"}},
		{"a pattern with names to choose from", `[{glob: "deep/{a,b}/f[n-p]??"}]`, []string{"$DIR/deep/a/four"}},
		{"a pattern for hidden directories", `[{glob: ".*/*"}]`, []string{"$DIR/.hidden/five"}},
		{"a pattern without any sign", `[{glob: ./one/}]`, []string{"$DIR/one"}},
		{"a pattern for directories of a repository", `[{glob: "mono/s*/*", exclude: [web]}]`, []string{"$DIR/mono/services/api"}},
		{"a pattern for a repository among directories of one", `[{glob: "mono/libs/*"}]`, []string{"$DIR/mono/libs/own"}},
		{"some of a pattern", `[{glob: "**", include: ["t*"], exclude: ["b/*"]}]`, []string{"$DIR/two"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, dir, err := loadIn(t, tt.repos, files)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, places(p, dir)); diff != "" {
				t.Errorf("repositories (-want +got):\n%s", diff)
			}
		})
	}
}

// After a mistake in repos it is not known where jobs work, so what they would share with
// other jobs is not reported: their branches, their output files, and names for --only.
func TestMistakesInRepositoriesCauseNoOthers(t *testing.T) {
	files := map[string]string{".git/": "", "one/.git/": "", "two/.git/": "", "file": "", "list.txt": "one\nnope\n", "empty.txt": "", "mistake.txt": "ref=x\n"}
	for _, repos := range []string{
		`[{path: nope}]`, `[{path: one}, {path: nope}]`, `[{path: file}]`, `[{copy: nope}]`, `[{url: x}]`, `[{file: list.txt}]`, `[{file: empty.txt}]`, `[{file: mistake.txt}]`,
		`[{file: nope.txt}]`, `[{file: list.txt, exclude: ["*"]}]`, `[{glob: "nope/*"}]`, `[{glob: nope}]`, `[{glob: "[x"}]`, `[{glob: "*", include: [x]}]`, `[{path: one}, {path: ./one}]`,
		`[{}]`, `one`,
	} {
		for where, m := range map[string]string{
			"two tasks": `
tasks:
- {id: a, prompt: p, repos: REPOS, commit: {branch: b}, output: {file: out.md}}
- {id: b, prompt: p, repos: REPOS, commit: {branch: b}, output: {file: out.md}}
- {id: c, prompt: p, commit: {branch: b}, output: {file: out.md}}
`,
			"the manifest": `
repos: REPOS
tasks:
- {id: a, prompt: p, commit: {branch: b}, output: {file: out.md}}
- {id: b, prompt: p, commit: {branch: b}, output: {file: out.md}}
- {id: c, prompt: p, repos: [{path: two}], commit: {branch: b}, output: {file: out.md}}
`,
		} {
			_, err := loadText(t, "version: 1\nmodel: openai/m"+strings.ReplaceAll(m, "REPOS", repos), files, tasks.Overrides{Only: []string{"a-two"}})
			for _, line := range lines(t, err) {
				if strings.Contains(line, "would both") || strings.Contains(line, "--only") {
					t.Errorf("repos: %s of %s: %s", repos, where, line)
				}
			}
			if err == nil {
				t.Errorf("repos: %s of %s: no problem", repos, where)
			}
		}
	}
}

// Directories of one repository share their branches.
func TestBranchesOfDirectoriesNameThem(t *testing.T) {
	files := map[string]string{"mono/.git/": "", "mono/services/api/": "", "mono/services/web/": "", "other/.git/": ""}
	p, _, err := loadIn(t, `[{path: mono/services/api}, {path: ./mono/services/web}, {path: other}, {path: mono}]`, files)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range p.Jobs {
		got = append(got, j.ID+" "+j.Repo.Name+" "+j.Commit.Branch)
	}
	want := []string{"a-api api millhand/a-api", "a-web web millhand/a-web", "a-other other millhand/a", "a-mono mono millhand/a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	for _, hidden := range []string{"mono/.git/*", "mono/.g*/*"} {
		if _, _, err := loadIn(t, `[{glob: "`+hidden+`"}]`, map[string]string{"mono/.git/hooks/": ""}); err == nil {
			t.Errorf("%s is a repository", hidden)
		}
	}
}

func TestSymlinkLoopsInPatterns(t *testing.T) {
	dir := dirWith(t, map[string]string{"m.yaml": oneTask + "repos: [{glob: '**'}, {glob: 'loop/*/*/one'}]", "w/one/.git/": ""})
	for symlink, to := range map[string]string{"loop": ".", "w/up": "..", "w/self": "self", "w/zwei": "one"} {
		if err := os.Symlink(to, filepath.Join(dir, symlink)); err != nil {
			t.Skip(err)
		}
	}
	_, err := Load(t.Context(), []string{"m.yaml"}, options(dir))
	want := []string{`m.yaml:4:23: duplicate repository "loop/loop/w/one", first on line 4; keep one of them`}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestPatternsWithManyStarsTerminate(t *testing.T) {
	deepest := "d/" + strings.Repeat("x/", 25)
	pattern := strings.Repeat("**/*/", 20)
	for _, tt := range nightly.Sample([]struct {
		name  string
		files int
		want  string
	}{
		{"few directories", 0, "m.yaml:4:16: no git repository matches " + problem.Quote(pattern) + "; check the pattern; it is relative to the manifest"},
		{"many files", 3000, "m.yaml:4:16: pattern " + problem.Quote(pattern) + " matches more than 100000 files and directories; start it with a directory, or use fewer **"},
	}, 2, 0) {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{deepest: ""}
			for i := range tt.files {
				files[fmt.Sprint(deepest, i)] = ""
			}
			_, _, err := loadIn(t, "[{glob: '"+pattern+"'}]", files)
			if diff := cmp.Diff([]string{tt.want}, lines(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakesInAListHaveTheirLine(t *testing.T) {
	list := strings.Join([]string{
		"one", "./one", "nope", "m.yaml", "copy:", "copy:one ref=main", "ref=main", "one ref=-x", "one ref=", `"one`, `"one"x`, `"one" x`,
		"https://ann:secret@h/x", "https://token@h/x", "a:b", "git@:x", "ext::sh -c x", "a\x01b", strings.Repeat("x", 9000), "  -", "ftp://h/x", "\xff",
	}, "\n")
	dir := dirWith(t, map[string]string{"sub/m.yaml": oneTask + "repos: [{path: one}, {file: list.txt}]", "sub/list.txt": list, "sub/one/": ""})
	_, err := Load(t.Context(), []string{"sub/m.yaml"}, options(dir))
	want := []string{
		`sub/list.txt:1:1: duplicate repository "one", first at sub/m.yaml:4; keep one of them`,
		`sub/list.txt:2:1: duplicate repository "one", first at sub/m.yaml:4; keep one of them`,
		`sub/list.txt:3:1: directory "nope": not found; check its path; it is relative to the manifest`,
		`sub/list.txt:4:1: "m.yaml" is not a directory; name the directory of a repository`,
		`sub/list.txt:5:1: missing repository; write a path, copy:PATH or a URL`,
		`sub/list.txt:6:1: ref is not supported with copy; remove it, or name the directory without copy:`,
		`sub/list.txt:7:1: missing repository; write a path, copy:PATH or a URL`,
		`sub/list.txt:8:1: invalid revision "-x"; name a branch, a tag or a commit after ref=`,
		`sub/list.txt:9:1: invalid revision ""; name a branch, a tag or a commit after ref=`,
		`sub/list.txt:10:1: invalid quoted path; write "PATH", with \" for a quote and \\ for a backslash in it`,
		`sub/list.txt:11:1: invalid quoted path; write "PATH", with \" for a quote and \\ for a backslash in it`,
		`sub/list.txt:12:1: unexpected "x" after the path; write ref=REF, or # before a comment`,
		`sub/list.txt:13:1: the URL holds credentials, which reports would show; take them out, and give a token by the environment`,
		`sub/list.txt:14:1: the URL holds credentials, which reports would show; take them out, and give a token by the environment`,
		`sub/list.txt:15:1: "a:b" is not the URL of a repository; write https://HOST/PATH, ssh://HOST/PATH or git@HOST:PATH`,
		`sub/list.txt:16:1: the URL names no valid host; write https://HOST/PATH, ssh://HOST/PATH or git@HOST:PATH`,
		`sub/list.txt:17:1: the URL holds white space or a control character; write it with %20 and its like`,
		`sub/list.txt:18:1: the line contains a control character or invalid UTF-8; write the path in double quotes, with \x and two digits for it`,
		`sub/list.txt:19:1: the line exceeds 8192 bytes; write one repository a line`,
		`sub/list.txt:20:3: directory "-": not found; check its path; it is relative to the manifest`,
		`sub/list.txt:21:1: the scheme "ftp" is not supported; use https, http, ssh or file`,
		`sub/list.txt:22:1: the line contains a control character or invalid UTF-8; write the path in double quotes, with \x and two digits for it`,
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestListsThatAreRefused(t *testing.T) {
	files := map[string]string{"empty.txt": "", "comments.txt": "# x\n\n", "one.txt": "one\n", "one/.git/": "", "copies.txt": "copy:one", "long.txt": strings.Repeat("\n", 100_000), "big.txt": strings.Repeat("#", 10<<20+1), "d/": ""}
	for _, tt := range []struct{ name, repos, want string }{
		{"nothing in it", "[{file: empty.txt}]", `m.yaml:4:16: no repository in list "empty.txt"; write one a line: a path, copy:PATH or a URL`},
		{"comments alone", "[{file: comments.txt}]", `m.yaml:4:16: no repository in list "comments.txt"; write one a line: a path, copy:PATH or a URL`},
		{"nothing left", "[{file: one.txt, exclude: [o*]}]", `m.yaml:4:16: no repository of "one.txt" is left after include and exclude; compare their patterns with the list`},
		{"nothing left of a pattern", "[{glob: o*, include: [x]}]", `m.yaml:4:16: no repository of "o*" is left after include and exclude; compare their patterns with the directories`},
		{"nothing found", "[{glob: d}]", `m.yaml:4:16: no git repository matches "d"; check the pattern; it is relative to the manifest`},
		{"no such file", "[{file: none.txt}]", `m.yaml:4:16: list "none.txt": not found; check its path; it is relative to the manifest`},
		{"a directory", "[{file: d}]", `m.yaml:4:16: list "d": not a file; check its path; it is relative to the manifest`},
		{"a ref for a copy", "[{file: copies.txt, ref: main}]", `copies.txt:1:1: ref is not supported with copy; remove it, or name the directory without copy:`},
		{"too many lines", "[{file: long.txt}]", `m.yaml:4:16: list "long.txt" exceeds 100000 lines, or all lists exceed 1000000 lines; split it`},
		{"too large", "[{file: big.txt}]", `m.yaml:4:16: list "big.txt" exceeds 10 MiB; split it`},
		{"twice", "[{file: one.txt}, {file: one.txt}]", `one.txt:1:1: duplicate repository "one", first at one.txt:1; keep one of them`},
		{"a directory and what a pattern finds", "[{path: ./one}, {glob: '*'}]", `m.yaml:4:24: duplicate repository "one", first on line 4; keep one of them`},
		{"standard input that is closed", "[{file: '-'}]", `m.yaml:4:16: cannot read standard input: file already closed; write the list to a file`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := loadIn(t, tt.repos, files)
			if diff := cmp.Diff([]string{tt.want}, lines(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListFromStdin(t *testing.T) {
	dir := dirWith(t, map[string]string{"m.yaml": oneTask + "repos: [{file: '-'}]", "two.yaml": strings.Replace(oneTask, "id: a", "id: b, repos: [{file: '-'}]", 1), "one/": ""})
	load := func(content string, err error, paths ...string) (*tasks.Plan, []string) {
		o := options(dir)
		o.Stdin = func() ([]byte, error) { return []byte(content), err }
		p, err := Load(t.Context(), paths, o)
		return p, lines(t, err)
	}
	if p, problems := load("one # x\n", nil, "m.yaml"); problems != nil || p.Jobs[0].Repo.Dir != filepath.Join(dir, "one") {
		t.Errorf("problems %q", problems)
	}
	for _, tt := range []struct {
		name    string
		content string
		err     error
		paths   []string
		want    string
	}{
		{"nothing in it", "", nil, []string{"m.yaml"}, `m.yaml:4:16: no repository in list "-"; write one a line: a path, copy:PATH or a URL`},
		{"a mistake in it", "one\ntwo\n", nil, []string{"m.yaml"}, `-:2:1: directory "two": not found; check its path; it is relative to the manifest`},
		{"broken", "", errors.New("broken pipe"), []string{"m.yaml"}, `m.yaml:4:16: cannot read standard input: broken pipe; write the list to a file`},
		{"a manifest and a list", strings.Replace(oneTask, "id: a", "id: c", 1), nil, []string{"m.yaml", "-"}, `m.yaml:4:16: standard input is already read as a manifest; write the list to a file`},
		{"two lists", "one", nil, []string{"m.yaml", "two.yaml"}, `two.yaml:3:32: standard input is already read as the list at m.yaml:4; write the list to a file`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := load(tt.content, tt.err, tt.paths...); !cmp.Equal([]string{tt.want}, got) {
				t.Errorf("problems (-want +got):\n%s", cmp.Diff([]string{tt.want}, got))
			}
		})
	}
	o := options(dir)
	o.Stdin = func() ([]byte, error) { t.Error("standard input was read for a profile"); return nil, nil }
	if _, err := manifest.LoadProfile(t.Context(), "edit", "m.yaml", o); err != nil {
		t.Error(err)
	}
}

func TestLocationRoundTrip(t *testing.T) {
	for _, r := range []tasks.Repo{
		{Kind: tasks.RepoPath, Dir: "/w/shop"},
		{Kind: tasks.RepoPath, Dir: "/w/my shop/#1", Ref: "main"},
		{Kind: tasks.RepoPath, Dir: "/w/a ref=b"},
		{Kind: tasks.RepoPath, Dir: `/w/"quoted"\back`, Ref: "a#b"},
		{Kind: tasks.RepoPath, Dir: "/w/line\nbreak\ttab\x00\xff"},
		{Kind: tasks.RepoPath, Dir: "/w/é\u00a0\u202e"},
		{Kind: tasks.RepoPath, Dir: `C:\w\shop`},
		{Kind: tasks.RepoPath, Dir: "copy:x"},
		{Kind: tasks.RepoPath, Dir: "-"},
		{Kind: tasks.RepoCopy, Dir: "/w/shop"},
		{Kind: tasks.RepoCopy, Dir: "/w/my # shop"},
		{Kind: tasks.RepoURL, URL: "https://h.example/a%20b.git", Ref: "v1.0"},
		{Kind: tasks.RepoURL, URL: "git@h.example:a/b.git"},
	} {
		line := r.Location()
		got, named, err := repolist.ParseRepoLine(line)
		if err != nil || !named || strings.ContainsAny(line, "\r\n") {
			t.Errorf("%q: named %v, %v", line, named, err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}
