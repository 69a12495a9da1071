package testcases

import "testing"

func TestHowAnAssertionIsWeakened(t *testing.T) {
	for name, c := range map[string]struct {
		was, now string
		want     Change
	}{
		"python: equal to true":          {`self.assertEqual(f(), 3)`, `self.assertTrue(f())`, Weaker},
		"python: equal to in":            {`self.assertEqual(f(), 3)`, `self.assertIn(f(), (3, 4))`, Weaker},
		"python: equal to not equal":     {`self.assertEqual(f(), 3)`, `self.assertNotEqual(f(), 4)`, Weaker},
		"python: operator removed":       {`assert f() == 3`, `assert f()`, Weaker},
		"python: not None":               {`assert f() == 3`, `assert f() is not None`, Weaker},
		"python: a constant":             {`assert f() == 3`, `assert True`, Weaker},
		"python: equal by operator":      {`self.assertEqual(f(), 3)`, `self.assertTrue(f() == 3)`, Replaced},
		"python: places":                 {`self.assertAlmostEqual(f(), 3.1, places=5)`, `self.assertAlmostEqual(f(), 3.1, places=1)`, Loosened},
		"python: approx":                 {`assert f() == pytest.approx(3.1, rel=1e-6)`, `assert f() == pytest.approx(3.1, rel=0.5)`, Loosened},
		"python: stricter":               {`assert f() == pytest.approx(3.1, rel=0.5)`, `assert f() == pytest.approx(3.1, rel=1e-6)`, Expected},
		"python: bound":                  {`assert score > 0.9`, `assert score > 0.5`, Loosened},
		"python: upper bound":            {`assert seconds < 2`, `assert seconds < 20`, Loosened},
		"python: value":                  {`assert f() == 3`, `assert f() == 4`, Expected},
		"javascript: toBe":               {`expect(f()).toBe(3);`, `expect(f()).toBeDefined();`, Weaker},
		"javascript: toEqual":            {`expect(f()).toEqual({a: 1});`, `expect(f()).toMatchObject({a: 1});`, Weaker},
		"javascript: not":                {`expect(f()).toBe(3);`, `expect(f()).not.toBe(4);`, Weaker},
		"javascript: assert":             {`assert.strictEqual(f(), 3);`, `assert.ok(f());`, Weaker},
		"javascript: a constant":         {`expect(f()).toBe(3);`, `expect(true).toBe(true);`, Weaker},
		"javascript: chai":               {`expect(f()).to.equal(3);`, `expect(f()).to.be.true;`, Weaker},
		"javascript: close to":           {`expect(f()).toBeCloseTo(3.14, 5);`, `expect(f()).toBeCloseTo(3.14, 1);`, Loosened},
		"javascript: bound":              {`expect(f()).toBeGreaterThan(90);`, `expect(f()).toBeGreaterThan(10);`, Loosened},
		"javascript: value":              {`expect(f()).toBe('a');`, `expect(f()).toBe('b');`, Expected},
		"javascript: another expression": {`expect(f()).toBe(3);`, `expect(g()).toBe(3);`, Replaced},
		"go: not empty":                  {`if got != 3 {`, `if got == 0 {`, Weaker},
		"go: not nil":                    {`if got := f(); got != want {`, `if got := f(); got == nil {`, Weaker},
		"go: contains":                   {`if got != want {`, `if !strings.Contains(got, want) {`, Weaker},
		"go: never":                      {`if got != want {`, `if false {`, Weaker},
		"go: testify":                    {`assert.Equal(t, 3, f())`, `assert.NotNil(t, f())`, Weaker},
		"go: testify delta":              {`require.InDelta(t, 3.1, f(), 0.01)`, `require.InDelta(t, 3.1, f(), 10)`, Loosened},
		"go: difference":                 {`if math.Abs(got-want) > 1e-9 {`, `if math.Abs(got-want) > 1e-1 {`, Loosened},
		"go: value":                      {`if got != 3 {`, `if got != 4 {`, Expected},
		"java: equals":                   {`assertEquals(3, f());`, `assertTrue(f() > 0);`, Weaker},
		"java: not null":                 {`assertThat(f()).isEqualTo(3);`, `assertThat(f()).isNotNull();`, Weaker},
		"java: delta":                    {`assertEquals(3.1, f(), 0.001);`, `assertEquals(3.1, f(), 1.0);`, Loosened},
		"java: value":                    {`assertEquals(3, f());`, `assertEquals(4, f());`, Expected},
		"rust: eq":                       {`assert_eq!(f(), 3);`, `assert!(f() > 0);`, Weaker},
		"rust: is_ok":                    {`assert_eq!(f(), Ok(3));`, `assert!(f().is_ok());`, Weaker},
		"rust: by operator":              {`assert_eq!(f(), 3);`, `assert!(f() == 3);`, Replaced},
		"ruby: eq":                       {`expect(f).to eq(3)`, `expect(f).to be_truthy`, Weaker},
		"ruby: minitest":                 {`assert_equal 3, f`, `assert f`, Weaker},
		"ruby: within":                   {`expect(f).to be_within(0.1).of(3)`, `expect(f).to be_within(5).of(3)`, Loosened},
		"php: same":                      {`$this->assertSame(3, f());`, `$this->assertNotNull(f());`, Weaker},
		"c#: equal":                      {`Assert.Equal(3, F());`, `Assert.NotNull(F());`, Weaker},
		"c++: eq":                        {`EXPECT_EQ(f(), 3);`, `EXPECT_TRUE(f());`, Weaker},
		"c++: near":                      {`EXPECT_NEAR(f(), 3.1, 0.01);`, `EXPECT_NEAR(f(), 3.1, 2);`, Loosened},
		"bash: empty":                    {`test "$(f)" = 3`, `test -n "$(f)"`, Weaker},
		"bash: ignored":                  {`[[ $(f) = 3 ]] || exit 1`, `[[ $(f) = 3 ]] || true`, Weaker},
		"bash: bound":                    {`test "$n" -gt 90`, `test "$n" -gt 10`, Loosened},
		"perl: is":                       {`is(f(), 3, 'f');`, `ok(f(), 'f');`, Weaker},
		"perl: like":                     {`is(f(), 'abc', 'f');`, `like(f(), qr/a/, 'f');`, Weaker},
		"perl: unless":                   {`exit 1 unless f() == 3;`, `exit 1 unless f() == 4;`, Expected},
		"stronger":                       {`assert.ok(f());`, `assert.strictEqual(f(), 3);`, Replaced},
	} {
		if got := Compare(c.was, c.now); got != c.want {
			t.Errorf("%s: %s -> %s is %s (%d to %d), want %s", name, c.was, c.now, got, strengthOf(c.was), strengthOf(c.now), c.want)
		}
	}
}

func TestHowAnAssertionIsSilenced(t *testing.T) {
	for name, c := range map[string]struct {
		was, now string
		want     Change
	}{
		"go":            {`t.Errorf("got %d", got)`, `t.Logf("got %d", got)`, Logged},
		"go: fatal":     {`t.Fatal(err)`, `t.Log(err)`, Logged},
		"python":        {`self.fail("no")`, `print("no")`, Logged},
		"python: #":     {`assert f() == 3`, `# assert f() == 3`, Commented},
		"javascript":    {`assert.fail('no');`, `console.log('no');`, Logged},
		"java: comment": {`assertEquals(3, f());`, `// assertEquals(3, f());`, Commented},
		"c: comment":    {`assert(f());`, `/* assert(f()); */`, Commented},
		"php":           {`$this->fail('no');`, `echo('no');`, Logged},
		"another text":  {`t.Errorf("got %d", got)`, `t.Logf("it works")`, ""},
		"a call":        {`t.Error(got)`, `use(got)`, ""},
	} {
		if got := Silenced(c.was, c.now); got != c.want {
			t.Errorf("%s: %s -> %s is %q, want %q", name, c.was, c.now, got, c.want)
		}
	}
}

func TestLinesThatSkipTests(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       int // the only line; -1 for none
	}{
		"Go":            {"a_test.go", "func TestA(t *testing.T) {\n\tt.Skip(\"later\")\n}\n", 1},
		"Go constraint": {"a_test.go", "package a\n//go:build never\n", 1},
		"pytest":        {"test_a.py", "\n@pytest.mark.skip\ndef test_a():\n", 1},
		"JavaScript":    {"a.test.js", "x();\nit.skip('a', () => {});\n", 1},
		"xit":           {"a.spec.ts", "x();\nxit('a', f);\n", 1},
		"Java":          {"ATest.java", "@Test\n@Disabled\nvoid a() {}\n", 1},
		"Rust":          {"src/a.rs", "#[test]\n#[ignore]\nfn a() {}\n", 1},
		"Ruby":          {"a_test.rb", "def test_a\n  skip\nend\n", 1},
		"C#":            {"ATest.cs", "\n[Fact(Skip = \"x\")] public void A() {}\n", 1},
		"PHP":           {"ATest.php", "function testA() {\n  $this->markTestSkipped();\n", 1},
		"C++":           {"a_test.cc", "TEST(A, B) {\n  GTEST_SKIP();\n", 1},
		"a comment":     {"a_test.go", "// t.Skip()\n", -1},
		"a string":      {"a_test.go", "x := \"t.Skip()\"\n", -1},
	} {
		got := Skips(c.file, c.text)
		if c.want < 0 && len(got) > 0 || c.want >= 0 && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%s: got %v, want %d", name, got, c.want)
		}
	}
}

func TestCasesHaveLines(t *testing.T) {
	for name, c := range map[string]struct{ file, text string }{
		"Go":         {"a_test.go", "package a\n\nfunc TestA(t *testing.T) {}\n"},
		"Python":     {"test_a.py", "\n\n    def TestA(self):\n"},
		"JavaScript": {"a.test.js", "x();\n\n  it('TestA', f);\n"},
		"Java":       {"ATest.java", "\n\n@Test void TestA() {}\n"},
		"Rust":       {"src/a.rs", "\n\n#[test] fn TestA() {}\n"},
		"C++":        {"a_test.cc", "\n\nTEST(A) {\n"},
	} {
		for _, one := range Declared(c.file, c.text) {
			if one.Line != 2 {
				t.Errorf("%s: %+v", name, one)
			}
		}
		if len(Declared(c.file, c.text)) != 1 && name != "Python" {
			t.Errorf("%s: %v", name, Declared(c.file, c.text))
		}
	}
}

func TestScriptsThatIgnoreExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		file, line string
		want       bool
	}{
		"a script":            {"scripts/check.sh", "go test ./... || true", true},
		"a script of tests":   {"test/run.sh", "bash $t || :", true},
		"make":                {"Makefile", "pytest || exit 0", true},
		"package.json":        {"package.json", `"test": "jest || true",`, true},
		"no tests":            {"package.json", `"test": "jest --passWithNoTests",`, true},
		"a workflow":          {".github/workflows/ci.yml", "continue-on-error: true", true},
		"errors are ignored":  {"test/run.sh", "set +e", true},
		"printed":             {"scripts/test.sh", "npm test || echo failed", true},
		"another command":     {"scripts/clean.sh", "rm -r out || true", false},
		"handled":             {"test/run.sh", "bash $t || exit 1", false},
		"a comment":           {"test/run.sh", "# bash $t || true", false},
		"not a shell command": {"a_test.go", "ok := test() || true", false},
	} {
		if got := Ignores(c.file, c.line); got != c.want {
			t.Errorf("%s: %s: %t", name, c.line, got)
		}
	}
}
