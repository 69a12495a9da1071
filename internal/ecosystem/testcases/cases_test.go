package testcases

import (
	"strings"
	"testing"
)

func TestACaseIsDisabledWithoutItsFile(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"Go":         {"a_test.go", "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n", "func TestA(t *testing.T) {}\nfunc xTestB(t *testing.T) {}\n"},
		"Python":     {"test_a.py", "def test_a():\n  pass\nasync def test_b():\n  'def test_b()'\n", "def test_a():\n  pass\nasync def xtest_b():\n  'def test_b()'\n"},
		"JavaScript": {"a.test.js", "test('test_a', () => {});\n  it(`test_b`, f);\n", "test('test_a', () => {});\n  it.skip(`test_b`, f);\n"},
		"a table":    {"a.test.ts", "it.each([1])('test_b', f)", "it.skip.each([1])('test_b', f)"},
		"Java":       {"ATest.java", "@Test void test_a() {}\n@Test\nvoid test_b() {}\n", "@Test void test_a() {}\n/*@Test*/\nvoid test_b() {}\n"},
		"Rust":       {"src/lib.rs", "#[test]\nfn test_a() {}\n#[test]\nfn test_b() {}\n", "#[test]\nfn test_a() {}\n/*#[test]*/\nfn test_b() {}\n"},
		"Ruby":       {"a_test.rb", "def test_a\nend\ndef test_b\nend\n", "def test_a\nend\ndef xtest_b\nend\n"},
	} {
		got, all := Disable(c.file, c.text, func(name string) bool { return strings.EqualFold(name, "test_b") || name == "TestB" })
		if got != c.want || !all {
			t.Errorf("%s: got %q, %v", name, got, all)
		}
	}
}

func TestWhatCannotBeDisabledIsReported(t *testing.T) {
	for name, c := range map[string]struct{ file, text string }{
		"an unknown language": {"a_test.lua", "test_b"},
		"C#":                  {"ATest.cs", "[Fact] public void B() {}"},
		"RSpec":               {"a_spec.rb", "it 'b' do\nend\n"},
		"Deno":                {"a.test.ts", "Deno.test('b', f)"},
	} {
		if got, all := Disable(c.file, c.text, func(string) bool { return true }); got != c.text || all {
			t.Errorf("%s: got %q, %v", name, got, all)
		}
	}
}

func FuzzDisable(f *testing.F) {
	f.Add("a_test.go", "func TestA(t *testing.T) {}")
	f.Add("a.test.js", "await it.only('x', f)")
	f.Add("a.rs", "#[test")
	f.Add("ATest.java", "@Test")
	f.Fuzz(func(t *testing.T, file, text string) {
		if got, _ := Disable(file, text, func(string) bool { return false }); got != text {
			t.Errorf("nothing is disabled, got %q", got)
		}
		Disable(file, text, func(string) bool { return true })
	})
}

func TestAssertionsAreRecognizedByTheirLook(t *testing.T) {
	for _, line := range []string{
		`assert x == 1`, `self.assertEqual(a, b)`, `expect(a).toBe(1)`, `t.Errorf("x")`, `require.NoError(t, err)`, `assert_eq!(a, b);`, `EXPECT_EQ(a, b);`,
		`assertThat(x).isTrue();`, `with pytest.raises(ValueError):`, `expect { x }.to raise_error`, `assert.strictEqual(a, 1);`, `test "$x" = 1`, `[[ $x = 1 ]] || exit 1`, `is($x, 1, 'x');`, `exit 1 unless $x == 1;`, `if got := f(1); got != 3 {`, `$this->assertSame(1, $x);`,
	} {
		if !Asserts(line) {
			t.Errorf("%s is an assertion", line)
		}
	}
	for _, line := range []string{`it('should work', () => {`, `x := 1`, `// assert x`, `def test_asserts`, `func TestVerify(t *testing.T) {`, ``} {
		if Asserts(line) {
			t.Errorf("%s is no assertion", line)
		}
	}
}
