package money

import "testing"

func TestParseAmount(t *testing.T) {
	for text, want := range map[string]Amount{
		"0": 0, "12": 1200, "12.5": 1250, "12.05": 1205, "-0.99": -99, "-3": -300,
	} {
		got, err := ParseAmount(text)
		if err != nil || got != want {
			t.Errorf("ParseAmount(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestParseAmountRefuses(t *testing.T) {
	for _, text := range []string{"", "-", ".5", "1.", "1.234", "1,50", "+1", "--1", "1.-5", "1e3", "99999999999999999"} {
		if got, err := ParseAmount(text); err == nil {
			t.Errorf("ParseAmount(%q) = %v, want an error", text, got)
		}
	}
}

func TestParseRate(t *testing.T) {
	if got, err := ParseRate("7.5"); err != nil || got != 750 {
		t.Errorf(`ParseRate("7.5") = %d, %v, want 750`, got, err)
	}
	for _, text := range []string{"-1", "100.01", "7.5%"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %v, want an error", text, got)
		}
	}
}

func TestShareRoundsToTheNearestCent(t *testing.T) {
	tests := []struct {
		amount Amount
		rate   Rate
		want   Amount
	}{
		{0, 1900, 0},
		{1000, 1900, 190},
		{999, 1900, 190}, // 189.81
		{102, 1900, 19},  // 19.38
		{50, 1900, 10},   // 9.5
		{1, 100_00, 1},
	}
	for _, tt := range tests {
		if got := tt.amount.Share(tt.rate); got != tt.want {
			t.Errorf("%v of %v = %v, want %v", tt.rate, tt.amount, got, tt.want)
		}
	}
}

func TestString(t *testing.T) {
	for amount, want := range map[Amount]string{0: "0.00", 5: "0.05", 1250: "12.50", -5: "-0.05", -1250: "-12.50"} {
		if got := amount.String(); got != want {
			t.Errorf("Amount(%d) is printed as %s, want %s", int64(amount), got, want)
		}
	}
	for rate, want := range map[Rate]string{1900: "19%", 750: "7.5%", 25: "0.25%"} {
		if got := rate.String(); got != want {
			t.Errorf("Rate(%d) is printed as %s, want %s", int64(rate), got, want)
		}
	}
}
