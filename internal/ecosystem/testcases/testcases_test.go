package testcases

import (
	"strings"
	"testing"
)

func TestTestFilesAreRecognized(t *testing.T) {
	tests := strings.FieldsSeq(`cart_test.go internal/a/cart_test.go test_cart.py cart_test.py tests.py app/tests/helpers.py
		cart.test.js cart.test.tsx cart.spec.ts cart.test.mjs src/__tests__/cart.js spec/cart.rb cart_spec.rb cart_test.rb test/cart.sh
		src/test/java/com/acme/Cart.java CartTest.java CartTests.java CartIT.java TestCart.java CartTest.kt CartTests.cs CartTest.php CartSpec.groovy
		testdata/golden.json e2e/login.yaml tests/run.bats cart_test.exs cart_test.dart CartTests.swift cart_unittest.cc tests/cart.rs cart.tests.ps1`)
	for file := range tests {
		if !IsTest(file) {
			t.Errorf("%s is no test", file)
		}
	}
	others := strings.FieldsSeq(`cart.go testing.go cart_test.go.bak _cart_test.go latest.go contest.py Contest.java attest.js testutil/x.go conftest.py
		vendor/github.com/x/y_test.go web/node_modules/x/test/a.js docs/tests.md/../x README.md test_cart.go manifest.json`)
	for file := range others {
		if IsTest(file) {
			t.Errorf("%s is a test", file)
		}
	}
}

// snippets are texts of test files with the cases and skip markers in them.
var snippets = []struct {
	file, text string
	cases      string // separated by " | "
	skips      int
}{
	{"a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) {})\n}\n\nfunc helper(t *testing.T) {}\n\nfunc FuzzB(f *testing.F) {}\n\nfunc (s *Suite) TestC() {}\n\nfunc BenchmarkD(b *testing.B) {}\n", "TestA | FuzzB | TestC", 0},
	{"a_test.go", "//go:build linux\n\npackage a\n\nfunc TestA(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip(\"long\")\n\t}\n\tb.SkipNow() // t.Skip()\n\tr := '\"'\n\ts := \"t.Skip()\"\n}\n", "TestA", 3},
	{"a_test.go", "package a\n\n// func TestA(t *testing.T) {}\n/*\nfunc TestB(t *testing.T) {}\n*/\nvar src = `\nfunc TestC(t *testing.T) {}\n`\n\nvar q = '`'\n\nfunc TestD(t *testing.T) {}\n", "TestD", 0},
	{"a.go", "package a\n\nfunc TestA() {}\n", "", 0},
	{"test_a.py", "import pytest\n\ndef test_a():\n    assert 1\n\nclass TestB:\n    async def test_b(self, x): pass\n    def helper(self): pass\n\n# def test_c(): pass\n'''\ndef test_d(): pass\n'''\n", "test_a | test_b", 0},
	{"test_a.py", "@pytest.mark.skip(reason=\"x\")\ndef test_a(): pass\n\n@pytest.mark.skipif(sys.platform == 'win32')\n@pytest.mark.xfail\ndef test_b():\n    pytest.skip('x')\n\n@unittest.skipIf(True, 'x')\nclass C:\n    __test__ = False\n    def test_c(self):\n        self.skipTest('x')\n", "test_a | test_b | test_c", 7},
	{"a.test.ts", "describe('cart', () => {\n  it('adds', async () => {});\n  test(\"it's one\", () => {})\n  it.each([['a', 1]])('each %s', () => {});\n  // it('gone')\n  beforeEach(() => { visit('/') });\n  model.test('x');\n});\nDeno.test(`in ${x}`, () => {});", "adds | it's one | a | in ${x}", 0},
	{"a.spec.js", "describe.only('x', () => { it.skip('a', f); xit('b', f); it.only('c', f); fit('d', f); test.todo('e'); test('f', {skip: true}, f) });\nxdescribe('y', () => { it('g', function () { this.skip() }) });\nmodel.fit(x)", "a | b | c | d | e | f | g", 9},
	{"a.test.js", "it('glob src/**/*.ts', f);\nit('url http://x', f);\nconst r = /['\"]/;\nit('last', f);\nconst t = `\nit('not', f);\n`;", "glob src/**/*.ts | url http://x | last", 0},
	{"ATest.java", "class ATest {\n  @Test\n  void a() { call(); }\n  @Test(expected = X.class) public void b() {}\n  @ParameterizedTest\n  @ValueSource(strings = {\"x\"})\n  void c(String s) {}\n  // @Test void d() {}\n  /* @Test void e() {} */\n  @TestInstance(Lifecycle.PER_CLASS) class Z {}\n}\n", "a | b | c", 0},
	{"ATest.java", "@Disabled(\"x\") @Test void a() {}\n@Ignore @Test public void b() { assumeTrue(x); }\n@DisabledOnOs(WINDOWS) @org.junit.Test void c() {}", "a | b | c", 4},
	{"ATest.kt", "@Test\nfun `adds two`() {}\n@Test fun b() {}", "`adds two` | b", 0},
	{"src/lib.rs", "fn a<'a>(x: &'a str) -> char { '\"' }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() { let s = r#\"#[test]\"#; }\n    #[tokio::test]\n    async fn two() {}\n    /* /* */ #[test] fn gone() {} */\n    #[test]\n    #[ignore = \"slow\"]\n    fn three() {}\n}\n", "one | two | three", 1},
	{"a_spec.rb", "describe Cart do\n  it \"adds\" do\n  end\n  it { is_expected.to be }\n  # it \"gone\"\n  xit 'later' do\n  end\n  it 'x', :skip do\n  end\n  skip 'why'\nend\n=begin\nit 'no' do\nend\n=end\n", "adds |  | later | x", 3},
	{"cart_test.rb", "class CartTest < Minitest::Test\n  def test_a\n  end\n  test \"b\" do\n  end\nend\n", "test_a | b", 0},
	{"ATests.cs", "[Fact]\npublic void A() {}\n[Theory, InlineData(1)]\npublic async Task B(int i) {}\n[Fact(Skip = \"x\")] public void C() {}\nvar s = @\"\n[Fact]\n\";\n[TestCase(1)]\npublic void D(int i) { Assert.Ignore(); }", "A | B | C | D", 2},
	{"ATest.php", "<?php\nclass ATest extends TestCase {\n  public function testA(): void { $this->markTestSkipped('x'); }\n  #[Test]\n  public function adds(): void {}\n  # function testB() {}\n}\n", "testA | adds", 1},
	{"a_test.cc", "TEST(Cart, Adds) {}\nTEST_F(CartTest, DISABLED_Sub) { GTEST_SKIP(); }\n// TEST(A, B) {}\n", "Cart, Adds | CartTest, DISABLED_Sub", 2},
}

func TestCasesAndSkipsAreCounted(t *testing.T) {
	for _, s := range snippets {
		v := Read(s.file, []byte(s.text))
		if got := strings.Join(v.cases, " | "); got != s.cases || v.skips != s.skips {
			t.Errorf("%s: cases %q, %d skips; want %q, %d:\n%s", s.file, got, v.skips, s.cases, s.skips, s.text)
		}
	}
}
