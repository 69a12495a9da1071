package money

import (
	"slices"
	"sync/atomic"
	"time"
)

// Schedule is what a model costs, which may depend on the time: the last of the prices that hold counts. It is empty if the price is unknown.
type Schedule []Dated

// Dated is a price that holds from a date on, or at some hours of each day.
type Dated struct {
	From       string // 2006-01-02; "" for always
	Start, End string // in UTC, as 15:04; "" for all day
	Price      Price
}

func (d Dated) holds(at time.Time) bool {
	at = at.UTC()
	hour := at.Format("15:04")
	switch {
	case d.From != "":
		return at.Format(time.DateOnly) >= d.From
	case d.Start == "":
		return true
	case d.End < d.Start: // over midnight
		return hour >= d.Start || hour < d.End
	}
	return hour >= d.Start && hour < d.End
}

// Price returns what requests cost that end at the given time; false if that is unknown.
func (s Schedule) Price(at time.Time) (Price, bool) {
	for _, d := range slices.Backward(s) {
		if d.holds(at) {
			return d.Price, true
		}
	}
	return Price{}, false
}

// Possible returns the prices that may apply to requests that end within a day.
func (s Schedule) Possible(at time.Time) []Price {
	var list []Price
	for _, d := range s {
		if d.From != "" && !d.holds(at.Add(24*time.Hour)) {
			continue
		}
		if d.Start == "" && d.holds(at) { // it replaces all before it
			list = nil
		}
		list = append(list, d.Price)
	}
	return list
}

// Surcharge is the highest percentage of its standard price that a provider has charged for a model so far, which it may charge again:
// at least 100. It is safe for concurrent use. A nil Surcharge adds nothing.
type Surcharge struct{ percent atomic.Int64 }

// Raise makes the surcharge at least as high as a percentage.
func (s *Surcharge) Raise(percent int64) {
	for now := s.percent.Load(); now < percent && !s.percent.CompareAndSwap(now, percent); now = s.percent.Load() {
	}
}

// On returns what a request costs with the surcharge.
func (s *Surcharge) On(standard USD) USD {
	if s == nil {
		return standard
	}
	return standard.Percent(max(s.percent.Load(), 100))
}

// Quote is what requests to a model may cost.
type Quote struct {
	Schedule

	Surcharge *Surcharge
}

// Quotes are those of the models one of which serves a request; nil if one is unknown.
type Quotes []Quote

// Most returns the most that a request costs that starts at a time and ends within a day.
func (q Quotes) Most(u Usage, at time.Time) (most USD) {
	for _, of := range q {
		for _, price := range of.Possible(at) {
			most = max(most, of.Surcharge.On(price.Cost(u)))
		}
	}
	return most
}
