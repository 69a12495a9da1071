package failures

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/text/terminal"
)

// limit is that of excerpts for agents.
const limit = 3000

// excerpt returns the excerpt of an output.
func excerpt(output string) string {
	s := NewScanner(limit)
	fmt.Fprint(s, terminal.Text(output))
	return s.Excerpt()
}

// output returns an output of testdata, without its header.
func output(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		tb.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "\n\n")
	if !ok || !strings.HasPrefix(head, "# ") {
		tb.Fatalf("%s has no header", name)
	}
	return rest
}

// noises are lines that programs print before and after a failure.
func noises() map[string]string {
	usage := "Error: unknown command \"x\" for \"root\"\nUsage:\n  root [flags]\n  root [command]\n\nFlags:\n  -h, --help   help for root\n"
	logs := "2026-01-02T03:04:05Z ERROR server.go:12: request failed: timeout\ntime=\"03:04\" level=error msg=\"cannot connect: error 5\"\n[INFO] done, 0 errors\nwarning: unused variable\n"
	passing := "ok      example.com/other  0.1s\n    ok 7 - works\n  ✓ works (2 ms)\nPASS src/other.test.js\n.........  [100%]\ntest works ... ok\n"
	blocks := "  console.error\n    Warning: An update was not wrapped in act(...)\n\n      at printWarning (node_modules/react-dom/index.js:86:30)\n"
	all := map[string]string{}
	for name, text := range map[string]string{"usage": usage, "logs": logs, "passing": passing, "blocks": blocks} {
		all[name] = strings.Repeat(text, 300/strings.Count(text, "\n")+1)
	}
	return all
}

func TestTheFirstFailedTestIsInTheExcerpt(t *testing.T) {
	for name, want := range map[string][]string{
		"go.one":          {"--- FAIL: TestAddsTwoNumbers", "calc_test.go:9: 1 + 1 = 2, want 3: the sum is wrong"},
		"go.fifty":        {"--- FAIL: TestAdds1 ", "1 + 1 = 2, want 0", "TestAdds2 ", "TestAdds9 "},
		"go-v.one":        {"--- FAIL: TestAddsTwoNumbers", "calc_test.go:9: 1 + 1 = 2, want 3: the sum is wrong"},
		"pytest.one":      {"test_adds_plain_numbers", "AssertionError: the sum is wrong", "assert 3 == 2"},
		"pytest.fifty":    {"__ test_adds_1 __", "AssertionError: sum 1 is wrong", "FAILED test_plain.py::test_adds_2"},
		"unittest.one":    {"FAIL: test_adds_two_numbers", "AssertionError: 3 != 2 : the sum is wrong"},
		"unittest.fifty":  {"FAIL: test_adds_01", "AssertionError: 2 != 0 : sum 01 is wrong", "FAIL: test_adds_02"},
		"jest.one":        {"● calculator › adds two numbers", "Expected: 3", "Received: 2"},
		"jest.fifty":      {"● calculator › adds 1\n", "Expected: 0", "Received: 2", "● calculator › adds 2\n"},
		"vitest.one":      {"calculator > adds two numbers", "AssertionError: expected 2 to be 3 // Object.is equality"},
		"vitest.fifty":    {"calculator > adds 1\n", "AssertionError: expected 2 to be +0 // Object.is equality"},
		"node.one":        {"not ok 2 - adds two numbers", "Expected values to be strictly equal:", "2 !== 3"},
		"node.fifty":      {"not ok 1 - adds 1\n", "Expected values to be strictly equal:", "2 !== 0", "not ok 2 - adds 2\n"},
		"node-spec.one":   {"✖ adds two numbers", "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:", "2 !== 3"},
		"node-spec.fifty": {"✖ adds 1 ", "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:", "2 !== 0", "✖ adds 2 "},
		"cargo.one":       {"tests::adds_two_numbers", "panicked at src/lib.rs:7:9", "assertion `left == right` failed: the sum is wrong", "left: 2", "right: 3"},
		"cargo.fifty":     {"tests::adds_01", "panicked at src/lib.rs:", "assertion `left == right` failed", "left: \"01\"", "tests::adds_02"},
		"maven.one":       {"addsTwoNumbers(com.example.CalcTest)", "java.lang.AssertionError: the sum is wrong expected:<3> but was:<2>"},
		"maven.fifty":     {"adds10(com.example.CalcTest)", "java.lang.AssertionError: expected:<0> but was:<11>", "CalcTest.adds11"},
		"gradle.one":      {"CalcTest > addsTwoNumbers FAILED", "java.lang.AssertionError at CalcTest.java:4"},
		"gradle.fifty":    {"CalcTest > adds10 FAILED", "java.lang.AssertionError at CalcTest.java:12", "CalcTest > adds11 FAILED"},
		"gradle-full.one": {"CalcTest > addsTwoNumbers FAILED", "java.lang.AssertionError: the sum is wrong expected:<3> but was:<2>"},
		"rspec.one":       {"1) Calculator adds two numbers", "expected: 3", "got: 2"},
		"rspec.fifty":     {"1) Calculator adds 1\n", "expected: 0", "got: 2", "rspec ./spec/calc_spec.rb:5"},
		"phpunit.one":     {"1) CalcTest::testAddsTwoNumbers", "the sum is wrong", "Failed asserting that 2 is identical to 3."},
		"phpunit.fifty":   {"1) CalcTest::testAdds1\n", "Failed asserting that 2 is identical to 0.", "2) CalcTest::testAdds2\n"},
		"dotnet.one":      {"Failed Calc.Tests.CalcTest.AddsTwoNumbers", "Assert.Equal() Failure: Values differ", "Expected: 3", "Actual:   2"},
		"dotnet.fifty":    {"Calc.Tests.CalcTest.Adds1 ", "Assert.Equal() Failure: Values differ", "Expected: 0", "Actual:   2", "Calc.Tests.CalcTest.Adds2 "},
		"ctest.one":       {"adds_two_numbers", "calc.c:10: 1 + 1 is 2, want 3"},
		"ctest.fifty":     {"adds_1 ", "sum 1 is wrong", "adds_2 "},
		"ctest-v.one":     {"adds_two_numbers", "calc.c:10: 1 + 1 is 2, want 3"},
	} {
		captured := output(t, name)
		variants := map[string]string{"": captured, "crlf": strings.ReplaceAll(captured, "\n", "\r\n"), "coloured": "\x1b[31m" + strings.ReplaceAll(captured, "\n", "\x1b[0m\n\x1b[1;31m")}
		for kind, noise := range noises() {
			variants[kind+" after"], variants[kind+" before"], variants[kind+" around"] = captured+noise, noise+captured, noise+captured+noise
		}
		for kind, text := range variants {
			got := excerpt(text)
			if len(got) > limit {
				t.Errorf("%s, %s: %d bytes", name, kind, len(got))
			}
			for _, w := range want {
				if !strings.Contains(got+"\n", w) {
					t.Errorf("%s, %s: no %q in\n%s", name, kind, w, got)
				}
			}
			if lines := strings.Split(strings.TrimRight(strings.NewReplacer("\r", "", "\x1b[0m", "").Replace(text), "\n"), "\n"); kind != "coloured" && !strings.Contains(name, "vitest") && !strings.HasSuffix(strings.TrimRight(got, "\n"), lines[len(lines)-1]) {
				t.Errorf("%s, %s: no last line %q in\n%s", name, kind, lines[len(lines)-1], got)
			}
		}
	}
}

func TestTheLineNamesTheFirstFailure(t *testing.T) {
	for name, want := range map[string]string{
		"go.one":         "TestAddsTwoNumbers: calc_test.go:9: 1 + 1 = 2, want 3: the sum is wrong",
		"go-v.one":       "TestAddsTwoNumbers: calc_test.go:9: 1 + 1 = 2, want 3: the sum is wrong",
		"pytest.one":     "test_adds_plain_numbers: AssertionError: the sum is wrong",
		"unittest.one":   "test_adds_two_numbers (test_calc.TestCalc.test_adds_two_numbers): AssertionError: 3 != 2 : the sum is wrong",
		"jest.one":       "calculator › adds two numbers: expect(received).toBe(expected) // Object.is equality",
		"vitest.one":     "calc.test.mjs > calculator > adds two numbers: AssertionError: expected 2 to be 3 // Object.is equality",
		"node.one":       "adds two numbers: Expected values to be strictly equal: 2 !== 3",
		"node-spec.one":  "adds two numbers: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 2 !== 3",
		"cargo.one":      "tests::adds_two_numbers: thread 'tests::adds_two_numbers' (15025) panicked at src/lib.rs:7:9: assertion `left == right` failed: the sum is wrong",
		"maven.one":      "addsTwoNumbers(com.example.CalcTest): java.lang.AssertionError: the sum is wrong expected:<3> but was:<2>",
		"gradle.one":     "CalcTest > addsTwoNumbers: java.lang.AssertionError at CalcTest.java:4",
		"rspec.one":      "Calculator adds two numbers: Failure/Error: expect(1 + 1).to eq(3)",
		"phpunit.one":    "CalcTest::testAddsTwoNumbers: the sum is wrong",
		"dotnet.one":     "Calc.Tests.CalcTest.AddsTwoNumbers: Assert.Equal() Failure: Values differ",
		"ctest.one":      "adds_two_numbers: calc.c:10: 1 + 1 is 2, want 3",
		"ctest-v.one":    "adds_two_numbers: 2: calc.c:10: 1 + 1 is 2, want 3",
		"unittest.fifty": "test_adds_01 (test_calc.TestCalc.test_adds_01): AssertionError: 2 != 0 : sum 01 is wrong",
	} {
		s := NewScanner(limit)
		fmt.Fprint(s, terminal.Text(output(t, name)))
		if got := s.Line(200); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestOtherFormsOfFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		output string
		want   []string
		line   string
	}{
		"panic in go": {
			"--- FAIL: TestDivides (0.00s)\npanic: runtime error: integer divide by zero [recovered]\n\tpanic: runtime error: integer divide by zero\n\ngoroutine 6 [running]:\ntesting.tRunner.func1.2({0x51, 0x52})\n\t/usr/local/go/src/testing/testing.go:1734 +0x21c\ncalc.Divide(...)\n\t/src/calc/calc.go:4\nFAIL\tcalc\t0.004s\n",
			[]string{"--- FAIL: TestDivides", "panic: runtime error: integer divide by zero", "/src/calc/calc.go:4"},
			"TestDivides: panic: runtime error: integer divide by zero [recovered]",
		},
		"subtest of go": {
			"--- FAIL: TestTable (0.00s)\n    --- PASS: TestTable/one (0.00s)\n    --- FAIL: TestTable/two (0.00s)\n        calc_test.go:12: got 3, want 4\n            with a second line\nFAIL\n",
			[]string{"--- FAIL: TestTable/two", "got 3, want 4", "with a second line"},
			"TestTable/two: calc_test.go:12: got 3, want 4",
		},
		"parallel tests of go test -v": {
			"=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n=== PAUSE TestB\n=== CONT  TestA\n=== CONT  TestB\n    calc_test.go:7: b is 1, want 2\n=== NAME  TestA\n    calc_test.go:5: a is logged\n" + strings.Repeat("server started\n", 400) + "--- PASS: TestA (0.01s)\n--- FAIL: TestB (0.01s)\nFAIL\n",
			[]string{"--- FAIL: TestB", "calc_test.go:7: b is 1, want 2"},
			"TestB: calc_test.go:7: b is 1, want 2",
		},
		"testify": {
			"--- FAIL: TestSum (0.00s)\n    calc_test.go:10: \n        \tError Trace:\t/src/calc/calc_test.go:10\n        \tError:      \tNot equal: \n        \t            \texpected: 3\n        \t            \tactual  : 2\n        \tTest:       \tTestSum\n",
			[]string{"--- FAIL: TestSum", "Not equal:", "expected: 3", "actual  : 2"},
			"TestSum: calc_test.go:10: Error Trace: /src/calc/calc_test.go:10",
		},
		"go test -json": {
			`{"Action":"output","Package":"calc","Test":"TestSum","Output":"    calc_test.go:9: got 2, want 3\n"}` + "\n" + `{"Action":"output","Package":"calc","Test":"TestSum","Output":"--- FAIL: TestSum (0.00s)\n"}` + "\n",
			[]string{"--- FAIL: TestSum"},
			"TestSum: calc_test.go:9: got 2, want 3",
		},
		"go build":  {"# calc\n./calc.go:3:9: undefined: total\n./calc.go:9:2: missing return\nFAIL\tcalc [build failed]\n", []string{"# calc", "./calc.go:3:9: undefined: total", "missing return"}, "./calc.go:3:9: undefined: total"},
		"pytest -q": {"FAILED test_calc.py::TestSum::test_two[1-2] - AssertionError: sum is wrong\n1 failed in 0.01s\n", []string{"test_calc.py::TestSum::test_two[1-2] - AssertionError: sum is wrong"}, "test_calc.py::TestSum::test_two[1-2] - AssertionError: sum is wrong"},
		"pytest with prints": {
			"=== FAILURES ===\n___ test_sum ___\n\n    def test_sum():\n" + strings.Repeat("        compute()\n", 200) + ">       assert total == 3\nE       assert 2 == 3\n\ntest_calc.py:210: AssertionError\n--- Captured stdout call ---\n" + strings.Repeat("AssertionError: printed\n", 300),
			[]string{"___ test_sum ___", ">       assert total == 3\nE       assert 2 == 3"},
			"test_sum: assert 2 == 3",
		},
		"pytest collection": {"=== ERRORS ===\n___ ERROR collecting test_calc.py ___\nImportError while importing test module '/src/test_calc.py'.\nTraceback:\ntest_calc.py:1: in <module>\n    import calc\nE   ModuleNotFoundError: No module named 'calc'\n=== short test summary info ===\nERROR test_calc.py\n", []string{"ERROR collecting test_calc.py", "E   ModuleNotFoundError: No module named 'calc'"}, "ERROR collecting test_calc.py: ImportError while importing test module '/src/test_calc.py'."},
		"python":            {"Traceback (most recent call last):\n  File \"/src/run.py\", line 3, in <module>\n    main()\nrun.Broken: no input\n", []string{"Traceback", "run.Broken: no input"}, "Traceback (most recent call last): run.Broken: no input"},
		"rustc":             {"error[E0308]: mismatched types\n --> src/lib.rs:5:9\n  |\n5 |         \"1\"\n  |         ^^^ expected `i32`, found `&str`\n\nerror: could not compile `calc` (lib) due to 1 previous error\n", []string{"error[E0308]: mismatched types\n --> src/lib.rs:5:9"}, "error[E0308]: mismatched types"},
		"cargo test with prints": {
			"failures:\n\n---- tests::sums stdout ----\n" + strings.Repeat("loaded a row\n", 400) + "\nthread 'tests::sums' panicked at src/lib.rs:9:5:\nthe sum is wrong\nnote: run with `RUST_BACKTRACE=1`\n\n\nfailures:\n    tests::sums\n\ntest result: FAILED. 0 passed; 1 failed\n",
			[]string{"---- tests::sums stdout ----", "panicked at src/lib.rs:9:5:\nthe sum is wrong"},
			"tests::sums: thread 'tests::sums' panicked at src/lib.rs:9:5: the sum is wrong",
		},
		"gcc":          {"calc.c: In function 'main':\ncalc.c:3:5: error: 'x' undeclared (first use in this function)\n    3 |     x = 1;\n", []string{"calc.c:3:5: error: 'x' undeclared"}, "calc.c:3:5: error: 'x' undeclared (first use in this function)"},
		"tsc":          {"src/calc.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n", []string{"error TS2322"}, "src/calc.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'."},
		"mocha":        {"  Calculator\n    1) adds\n\n\n  0 passing (4ms)\n  1 failing\n\n  1) Calculator\n       adds:\n\n      AssertionError [ERR_ASSERTION]: 2 == 3\n      + expected - actual\n\n      -2\n      +3\n", []string{"1) Calculator\n       adds:", "AssertionError [ERR_ASSERTION]: 2 == 3"}, "Calculator: AssertionError [ERR_ASSERTION]: 2 == 3"},
		"prove":        {"t/calc.t ..\nok 1 - zero\nnot ok 2 - adds\n#   Failed test 'adds'\n#   at t/calc.t line 4.\n#          got: '2'\n#     expected: '3'\n1..2\n", []string{"not ok 2 - adds", "Failed test 'adds'", "got: '2'", "expected: '3'"}, "adds: Failed test 'adds'"},
		"googletest":   {"[ RUN      ] Calc.Adds\ncalc_test.cc:9: Failure\nExpected equality of these values:\n  1 + 1\n    Which is: 2\n  3\n\n[  FAILED  ] Calc.Adds (0 ms)\n", []string{"calc_test.cc:9: Failure\nExpected equality of these values:", "[  FAILED  ] Calc.Adds"}, "calc_test.cc:9: Failure: Expected equality of these values: 1 + 1"},
		"jest suite":   {"FAIL ./calc.test.js\n  ● Test suite failed to run\n\n    Cannot find module './calc' from 'calc.test.js'\n\nTest Suites: 1 failed, 1 total\n", []string{"● Test suite failed to run", "Cannot find module './calc'"}, "Test suite failed to run: Cannot find module './calc' from 'calc.test.js'"},
		"new node":     {"▶ calculator\n  ✖ adds one (1.2ms)\n  ✖ adds two (0.8ms)\n✖ calculator (3ms)\nℹ tests 2\n\n✖ failing tests:\n\ntest at calc.test.js:4:3\n✖ adds one (1.2ms)\n  AssertionError: 2 == 3\n      at x.js:1:1\n\ntest at calc.test.js:7:3\n✖ adds two (0.8ms)\n  AssertionError: 4 == 5\n", []string{"✖ adds one", "AssertionError: 2 == 3", "✖ adds two", "AssertionError: 4 == 5"}, "adds one: AssertionError: 2 == 3"},
		"node crash":   {"/src/run.js:1\nthrow new Error('no input');\n^\n\nError: no input\n    at Object.<anonymous> (/src/run.js:1:7)\n\nNode.js v20.20.2\n", []string{"Error: no input"}, "Error: no input"},
		"surefire 3":   {"[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.04 s <<< FAILURE! -- in com.example.CalcTest\n[ERROR] com.example.CalcTest.adds -- Time elapsed: 0.01 s <<< FAILURE!\norg.opentest4j.AssertionFailedError: expected: <3> but was: <2>\n\tat com.example.CalcTest.adds(CalcTest.java:5)\n\n", []string{"com.example.CalcTest.adds", "expected: <3> but was: <2>"}, "com.example.CalcTest.adds: org.opentest4j.AssertionFailedError: expected: <3> but was: <2>"},
		"javac":        {"[INFO] compiling\n[ERROR] /src/Calc.java:[5,9] cannot find symbol\n[ERROR]   symbol: variable total\n", []string{"Calc.java:[5,9] cannot find symbol", "variable total"}, "/src/Calc.java:[5,9] cannot find symbol"},
		"dotnet build": {"/src/Calc.cs(5,9): error CS0103: The name 'total' does not exist in the current context [/src/Calc.csproj]\n", []string{"error CS0103: The name 'total' does not exist"}, "/src/Calc.cs(5,9): error CS0103: The name 'total' does not exist in the current context [/src/Calc.csproj]"},
		"new dotnet":   {"failed Calc.Tests.Adds (12ms)\n  Assert.Equal() Failure: Values differ\n  Expected: 3\n  Actual:   2\n    at Calc.Tests.Adds() in /src/CalcTest.cs:8\n", []string{"failed Calc.Tests.Adds", "Expected: 3", "Actual:   2"}, "Calc.Tests.Adds: Assert.Equal() Failure: Values differ"},
		"phpunit 11":   {"There was 1 error:\n\n1) CalcTest::testAdds\nDivisionByZeroError: Division by zero\n\n/src/Calc.php:4\n\nERRORS!\n", []string{"1) CalcTest::testAdds\nDivisionByZeroError: Division by zero"}, "CalcTest::testAdds: DivisionByZeroError: Division by zero"},
		"minitest": {
			"  1) Error:\nCalcTest#test_raises:\nNoMethodError: undefined method `foo' for nil:NilClass\n\n  def test_raises; nil.foo; end\n                      ^^^^\n    mt.rb:5:in `test_raises'\n\n  2) Failure:\nCalcTest#test_adds_two_numbers [mt.rb:4]:\nthe sum is wrong.\nExpected: 3\n  Actual: 2\n\n3 runs, 1 assertions, 1 failures, 1 errors, 0 skips\n",
			[]string{"CalcTest#test_raises:\nNoMethodError", "CalcTest#test_adds_two_numbers [mt.rb:4]:\nthe sum is wrong"},
			"CalcTest#test_raises: NoMethodError: undefined method `foo' for nil:NilClass",
		},
		"test-unit": {
			"====================\nFailure: test_adds_two_numbers(CalcTest)\ntu.rb:4:in `test_adds_two_numbers'\n     1: require \"test/unit\"\n     2: class CalcTest < Test::Unit::TestCase\n     3:   def test_zero; end\n  => 4:   def test_adds_two_numbers; assert_equal 3, 1 + 1, \"the sum is wrong\"; end\n     5:   def test_raises; nil.foo; end\n     6: end\nthe sum is wrong\n<3> expected but was\n<2>\n====================\nE\n====================\nError: test_raises(CalcTest):\n  NoMethodError: undefined method `foo' for nil:NilClass\n  \n    def test_raises; nil.foo; end\n                        ^^^^\ntu.rb:5:in `test_raises'\n     2: class CalcTest < Test::Unit::TestCase\n     3:   def test_zero; end\n     4:   def test_adds_two_numbers; assert_equal 3, 1 + 1, \"the sum is wrong\"; end\n  => 5:   def test_raises; nil.foo; end\n     6: end\n====================\n.\n",
			[]string{"Failure: test_adds_two_numbers(CalcTest)", "the sum is wrong"},
			"Error: test_raises(CalcTest):",
		},
		"exunit": {
			"\n\n  1) test raises (CalcTest)\n     t.exs:6\n     ** (RuntimeError) boom happened\n     code: test \"raises\" do raise \"boom happened\" end\n     stacktrace:\n       t.exs:6: (test)\n\n.\n\n  2) test adds two numbers (CalcTest)\n     t.exs:5\n     Assertion with == failed\n     code:  assert 1 + 1 == 3\n     left:  2\n     right: 3\n     stacktrace:\n       t.exs:5: (test)\n\n\nFinished in 0.2 seconds (0.2s on load, 0.00s async, 0.01s sync)\n3 tests, 2 failures\n\nRandomized with seed 787820\n",
			[]string{"1) test raises (CalcTest)", "boom happened", "2) test adds two numbers (CalcTest)", "left:  2"},
			"test raises (CalcTest): t.exs:6",
		},
		"catch2": {
			"--------------------\nadds two numbers\n  inner\n--------------------\nk.cpp:8\n...............................................................................\n\nk.cpp:8: FAILED:\n  REQUIRE( 1 + 1 == 3 )\nwith expansion:\n  2 == 3\nwith message:\n  ctx\n\n--------------------\nthrows\n--------------------\nk.cpp:9\n...............................................................................\n\nk.cpp:9: FAILED:\ndue to unexpected exception with message:\n  boom happened\n\n====================\ntest cases: 3 | 1 passed | 2 failed\nassertions: 3 | 1 passed | 2 failed\n\n",
			[]string{"adds two numbers\n  inner", "k.cpp:8: FAILED:\n  REQUIRE( 1 + 1 == 3 )"},
			"k.cpp:8: FAILED: REQUIRE( 1 + 1 == 3 )",
		},
		"doctest": {
			"********************\nFile \"/src/dt.py\", line 3, in dt.f\nFailed example:\n    1+1\nExpected:\n    3\nGot:\n    2\n********************\n1 items had failures:\n   1 of   1 in dt.f\n***Test Failed*** 1 failures.\n",
			[]string{"in dt.f", "Expected:\n    3\nGot:\n    2"},
			"dt.f: Failed example: 1+1",
		},
		"bats": {
			"\u001b[34;1ma.bats\n\u001b[0m\u001b[1G   zero\u001b[K\u001b[77G1/2\u001b[2G\u001b[1G ✓ zero\u001b[K\n\u001b[0m\u001b[1G   adds two numbers\u001b[K\u001b[77G2/2\u001b[2G\u001b[31;1m\u001b[1G ✗ adds two numbers\u001b[K\n\u001b[0m\u001b[31;22m   (in test file a.bats, line 2)\n\u001b[0m\u001b[31;22m     `@test \"adds two numbers\" { echo \"out of it\"; [ $((1+1)) -eq 3 ]; }' failed\n\u001b[0m\u001b[31;22m   out of it\n\u001b[0m\u001b[31;1m\n2 tests, 1 failure\n\u001b[0m\n",
			[]string{"✗ adds two numbers", "in test file a.bats, line 2"},
			"adds two numbers: (in test file a.bats, line 2)",
		},
		"eslint": {
			"\n/src/e/x.js\n  1:7  error    'a' is assigned a value but never used  no-unused-vars\n  2:7  warning  Expected '===' and instead saw '=='     eqeqeq\n\n/src/e/y.js\n  1:11  error  Parsing error: Unexpected token ;\n\n✖ 3 problems (2 errors, 1 warning)\n\n",
			[]string{"/src/e/x.js\n  1:7  error", "Unexpected token ;"},
			"1:7 error 'a' is assigned a value but never used no-unused-vars",
		},
		"vitest suite": {
			"RUN  v2.1.9 /src/js\n\n ❯ v/broken.test.mjs (0 test)\n\n⎯⎯⎯⎯⎯⎯ Failed Suites 1 ⎯⎯⎯⎯⎯⎯⎯\n\n FAIL  v/broken.test.mjs [ v/broken.test.mjs ]\nError: Failed to load url ./nothing.mjs (resolved id: ./nothing.mjs) in /src/v/broken.test.mjs. Does the file exist?\n ❯ loadAndTransform node_modules/vite/dist/node/chunks/dep-BK3b2jBa.js:51969:17\n\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯\n\n Test Files  1 failed (1)\n      Tests  no tests\n   Start at  03:09:32\n   Duration  743ms (transform 65ms, setup 0ms, collect 0ms, tests 0ms, environment 0ms, prepare 162ms)\n",
			[]string{"v/broken.test.mjs [ v/broken.test.mjs ]\nError: Failed to load url ./nothing.mjs"},
			"v/broken.test.mjs [ v/broken.test.mjs ]: Error: Failed to load url ./nothing.mjs (resolved id: ./nothing.mjs) in /src/v/broken.test.mjs. Does the file exist?",
		},
		"go test -json of a package that does not compile": {
			"{\"ImportPath\":\"calc/b [calc/b.test]\",\"Action\":\"build-output\",\"Output\":\"# calc/b [calc/b.test]\\n\"}\n{\"ImportPath\":\"calc/b [calc/b.test]\",\"Action\":\"build-output\",\"Output\":\"b/b.go:2:23: undefined: x\\n\"}\n{\"ImportPath\":\"calc/b [calc/b.test]\",\"Action\":\"build-fail\"}\n{\"Time\":\"2026-11-28T03:10:30.24769745Z\",\"Action\":\"start\",\"Package\":\"calc/b\"}\n{\"Time\":\"2026-11-28T03:10:30.247814147Z\",\"Action\":\"output\",\"Package\":\"calc/b\",\"Output\":\"FAIL\\tcalc/b [build failed]\\n\"}\n{\"Time\":\"2026-11-28T03:10:30.247823114Z\",\"Action\":\"fail\",\"Package\":\"calc/b\",\"Elapsed\":0,\"FailedBuild\":\"calc/b [calc/b.test]\"}\n",
			[]string{"undefined: x"},
			"b/b.go:2:23: undefined: x",
		},
		"nextest": {
			"    Finished `test` profile [unoptimized] target(s) in 0.05s\n────────────\n Nextest run ID 9bd with nextest profile: default\n    Starting 2 tests across 1 binary\n        PASS [   0.004s] calc tests::zero\n        FAIL [   0.005s] calc tests::adds_two\n  stdout ───\n\n    running 1 test\n    test tests::adds_two ... FAILED\n\n    failures:\n\n    failures:\n        tests::adds_two\n\n  stderr ───\n\n    thread 'tests::adds_two' (123) panicked at src/lib.rs:14:44:\n    assertion `left == right` failed: the sum is wrong\n      left: 2\n     right: 3\n    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n  Cancelling due to test failure\n────────────\n     Summary [   0.006s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        FAIL [   0.005s] calc tests::adds_two\nerror: test run failed\n",
			[]string{"calc tests::adds_two", "the sum is wrong"},
			"tests::adds_two: assertion `left == right` failed: the sum is wrong",
		},
		"ruff": {
			"F401 [*] `os` imported but unused\n --> t.py:1:8\n  |\n1 | import os\n  |        ^^\n  |\nhelp: Remove unused import: `os`\n\nFound 1 error.\n",
			[]string{"F401 [*] `os` imported but unused\n --> t.py:1:8"},
			"F401 [*] `os` imported but unused",
		},
		"pyright": {
			"/src/t.py\n  /src/t.py:2:12 - error: Type \"int\" is not assignable to return type \"str\"\n    \"int\" is not assignable to \"str\" (reportReturnType)\n1 error, 0 warnings, 0 informations \n",
			[]string{"t.py:2:12 - error: Type \"int\""},
			"/src/t.py:2:12 - error: Type \"int\" is not assignable to return type \"str\"",
		},
		"rubocop": {
			"Inspecting 1 file\nC\n\nOffenses:\n\na.rb:1:7: C: [Correctable] Style/StringLiterals: Prefer single-quoted strings\nx = \"a\"\n    ^^^\n\n1 file inspected, 1 offense detected\n",
			[]string{"a.rb:1:7: C: [Correctable]"},
			"a.rb:1:7: C: [Correctable] Style/StringLiterals: Prefer single-quoted strings",
		},
		"jasmine": {
			"Started\nF.\n\nFailures:\n1) calculator adds two numbers\n  Message:\n    Expected 2 to be 3.\n  Stack:\n        at <Jasmine>\n        at UserContext.<anonymous> (/src/spec/calc.spec.js:4:19)\n\n2 specs, 1 failure\nFinished in 0.009 seconds\n",
			[]string{"1) calculator adds two numbers", "Expected 2 to be 3"},
			"calculator adds two numbers: Message: Expected 2 to be 3.",
		},
		"dart": {
			"00:00 +0: zero\n00:00 +1: adds two numbers\n00:00 +1 -1: adds two numbers [E]\n  Expected: <3>\n    Actual: <2>\n  the sum is wrong\n  package:matcher expect\n  test/calc_test.dart 6:5 main.<fn>\n\n00:00 +1 -1: Some tests failed.\n",
			[]string{"adds two numbers [E]", "Expected: <3>"},
			"adds two numbers: Expected: <3>",
		},
		"bun": {
			"bun test v1.1.34 (5e5e7c60)\n\ncalc.test.ts:\n1 | import { test, expect, describe } from \"bun:test\";\n2 | describe(\"calculator\", () => {\n3 |   test(\"adds two numbers\", () => {\n4 |     expect(1 + 1).toBe(3);\n                      ^\nerror: expect(received).toBe(expected)\n\nExpected: 3\nReceived: 2\n\n      at <anonymous> (/src/calc.test.ts:4:19)\n(fail) calculator > adds two numbers [0.52ms]\n(pass) calculator > zero\n\n 1 pass\n 1 fail\n 1 expect() calls\nRan 2 tests across 1 files. [8.00ms]\n",
			[]string{"(fail) calculator > adds two numbers", "Received: 2"},
			"calculator > adds two numbers",
		},
		"deno": {
			"running 2 tests from ./calc_test.ts\nzero ... ok (1ms)\nadds two numbers ... FAILED (3ms)\n\n ERRORS \n\nadds two numbers => ./calc_test.ts:4:6\nerror: AssertionError: Values are not equal: the sum is wrong\n\n\n    [Diff] Actual / Expected\n\n\n-   2\n+   3\n\n  throw new AssertionError(message);\n        ^\n    at assertEquals (https://jsr.io/@std/assert/1.0.0/equals.ts:64:9)\n\n FAILURES \n\nadds two numbers => ./calc_test.ts:4:6\n\nFAILED | 1 passed | 1 failed (10ms)\n\nerror: Test failed\n",
			[]string{"adds two numbers =>", "the sum is wrong"},
			"adds two numbers: AssertionError: Values are not equal: the sum is wrong",
		},
		"scalatest": {
			"[info] CalcSpec:\n[info] Calculator\n[info] - should do nothing\n[info] - should add two numbers *** FAILED ***\n[info]   2 did not equal 3 the sum is wrong (CalcSpec.scala:7)\n[info] Run completed in 200 milliseconds.\n[info] *** 1 TEST FAILED ***\n[error] Failed tests:\n[error] \tCalcSpec\n[error] (Test / test) sbt.TestsFailedException: Tests unsuccessful\n",
			[]string{"should add two numbers", "the sum is wrong"},
			"should add two numbers: [info] 2 did not equal 3 the sum is wrong (CalcSpec.scala:7)",
		},
		"kotlin": {
			"> Task :compileKotlin FAILED\ne: file:///src/main/kotlin/Calc.kt:3:12 Unresolved reference: total\nw: file:///src/main/kotlin/Calc.kt:9:1 Parameter 'x' is never used\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':compileKotlin'.\n> A failure occurred while executing org.jetbrains.kotlin.compilerRunner\n   > Compilation error. See log for more details\n",
			[]string{"Calc.kt:3:12 Unresolved reference: total"},
			"e: file:///src/main/kotlin/Calc.kt:3:12 Unresolved reference: total",
		},
		"linker": {
			"/usr/bin/ld: /tmp/cc66TdQB.o: in function `main':\nl.cpp:(.text+0x5): undefined reference to `f()'\ncollect2: error: ld returned 1 exit status\n",
			[]string{"undefined reference to"},
			"l.cpp:(.text+0x5): undefined reference to `f()'",
		},
		"php": {
			"PHP Parse error:  Unclosed '(' does not match '}' in broken.php on line 2\nErrors parsing broken.php\n",
			[]string{"broken.php on line 2"},
			"PHP Parse error: Unclosed '(' does not match '}' in broken.php on line 2",
		},
		"elixir": {
			"warning: variable \"y\" does not exist and is being expanded to \"y()\", please use parentheses to remove the ambiguity or change the variable name\n  b.exs:2: X.f/0\n\n** (CompileError) b.exs:2: undefined function y/0 (expected X to define such a function or for it to be imported, but none are available)\n\n",
			[]string{"undefined function y/0"},
			"** (CompileError) b.exs:2: undefined function y/0 (expected X to define such a function or for it to be imported, but none are available)",
		},
		"script": {"checking prices\nnot twenty but 15\n", []string{"not twenty but 15"}, "not twenty but 15"},
		"shell":  {"copying\nmake: *** [Makefile:3: all] Error 2\n", []string{"Error 2"}, "make: *** [Makefile:3: all] Error 2"},
	} {
		s := NewScanner(limit)
		fmt.Fprint(s, terminal.Text(tt.output))
		if got := s.Line(200); got != tt.line {
			t.Errorf("%s: the line is %q, want %q", name, got, tt.line)
		}
		for kind, text := range map[string]string{"alone": tt.output, "300 lines before the end": tt.output + strings.Repeat("2026/01/02 15:04:05 request done\n", 300), "after 100 lines": strings.Repeat("2026/01/02 15:04:05 request done\n", 100) + tt.output} {
			got := excerpt(text)
			for _, want := range tt.want {
				if !strings.Contains(got, want) && (name != "script" || kind == "alone") || len(got) > limit {
					t.Errorf("%s, %s: no %q in %d bytes:\n%s", name, kind, want, len(got), got)
				}
			}
		}
	}
}

// Logs of passing tests have the forms of failures, too, and large values are in one line.
func TestNoiseDoesNotHideAFailure(t *testing.T) {
	const failure = "--- FAIL: TestAdds (0.00s)\n    calc_test.go:9: got 2, want 3\nFAIL\n"
	long := strings.Repeat("x", 9000)
	for name, tt := range map[string]struct {
		output string
		want   []string
	}{
		"forms of failures":       {strings.Repeat("FAILED to open\nnot ok x\n✖ x failed\n  ● note\nFAIL: mock\npanic: recovered\nthread 'w' panicked at x.rs:1:1:\nexpected\n", 1000) + failure, []string{"--- FAIL: TestAdds", "got 2, want 3"}},
		"errors before an error":  {strings.Repeat("2026-01-02 ERROR worker 12 FAILED: cannot connect\n", 1000) + "cannot start the server\n" + strings.Repeat("file.go 80% of statements\n", 300), []string{"cannot start the server"}},
		"errors around an error":  {strings.Repeat("Error: no connection\n    at x (a.js:1:2)\n", 500) + "Error: no such table\n" + strings.Repeat("Error: no connection\n    at x (a.js:1:2)\n", 500), []string{"Error: no such table"}},
		"an expected long value":  {"  ● calc › adds\n\n    expect(received).toBe(expected)\n\n    Expected: \"A" + long + "\"\n    Received: \"B" + long + "\"\n", []string{"● calc › adds", "Expected: \"A", "Received: \"B"}},
		"long values in a result": {"__ test_x __\n>       assert f('" + long + "') == 3\nE       AssertionError: wrong sum\nE       assert '" + long + "' == 3\n", []string{"test_x", "wrong sum", "' == 3"}},
	} {
		got := excerpt(tt.output)
		for _, want := range tt.want {
			if !strings.Contains(got, want) || len(got) > limit {
				t.Errorf("%s: no %q in %d bytes:\n%s", name, want, len(got), got)
			}
		}
	}
}

// What is stored does not grow with the output, and neither does the excerpt.
func TestALongOutputIsScannedInBoundedMemory(t *testing.T) {
	s := NewScanner(limit)
	fmt.Fprint(s, "--- FAIL: TestFirst (0.00s)\n    first_test.go:3: got 1, want 2\n")
	chunk := strings.Repeat("--- FAIL: TestOther (0.00s)\n    other_test.go:3: error\n=== RUN   TestMore\n7: output\nsome text\n", 1000) + strings.Repeat("x", 1<<20)
	for range 8 {
		fmt.Fprint(s, chunk)
	}
	lines := len(s.failures) + len(s.tail) + len(s.output) + len(s.summary)
	for _, f := range s.failures {
		lines += len(f.message) + len(f.around) + len(f.body) + len(f.before) + len(f.last)
	}
	if lines > 3000 || cap(s.partial) > 4<<20 || len(s.all) > limit+1 {
		t.Errorf("%d lines and %d bytes are stored", lines, cap(s.partial))
	}
	got := s.Excerpt()
	if len(got) > limit || !strings.Contains(got, "--- FAIL: TestFirst (0.00s)\n    first_test.go:3: got 1, want 2\n") || !strings.Contains(got, "TestOther") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
}

func FuzzExcerpt(f *testing.F) {
	for _, name := range []string{"go.one", "vitest.one", "ctest-v.one", "cargo.one"} {
		f.Add(output(f, name), 7)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		chunked := NewScanner(limit)
		for rest := text; rest != ""; {
			n := min(len(rest), max(1, size&0xffff))
			fmt.Fprint(chunked, rest[:n])
			rest = rest[n:]
		}
		s := NewScanner(limit)
		fmt.Fprint(s, text)
		got := s.Excerpt()
		if len(got) > limit || !utf8.ValidString(got) || strings.Contains(s.Line(100), "\n") || len(s.Line(100)) > 100+len("…") {
			t.Errorf("%d bytes: %q; %q", len(got), got, s.Line(100))
		}
		if len(text) < maxPartial && chunked.Excerpt() != got {
			t.Errorf("in chunks of %d bytes: %q, else %q", size, chunked.Excerpt(), got)
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	text := strings.Repeat("2026-01-02T03:04:05Z INFO server.go:12: request done in 5 ms, see ./path/to/file.log\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		fmt.Fprint(NewScanner(limit), text)
	}
}
