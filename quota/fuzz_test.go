package quota

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A tape is a fuzzer's input, read as numbers; it ends in zeros.
type tape []byte

func (p *tape) byte() byte {
	if len(*p) == 0 {
		return 0
	}
	b := (*p)[0]
	*p = (*p)[1:]
	return b
}

func (p *tape) int64() int64 {
	var b [8]byte
	*p = (*p)[copy(b[:], *p):]
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// limit reads a limit: a small one, or of any bits at all.
func (p *tape) limit() Limit {
	kind := p.byte()
	if kind < 128 {
		return Limit{Per(float64(kind%16), time.Duration(1+kind/16)*time.Second), int64(p.byte() % 16)}
	}
	return Limit{Rate{math.Float64frombits(uint64(p.int64())), time.Duration(p.int64())}, p.int64()}
}

// now reads the clock's next value: it runs, or is anything at all.
func (p *tape) now(now int64) int64 {
	if step := p.byte(); step < 200 {
		return saturate(now, int64(step)*37e6)
	}
	return p.int64()
}

// cost reads a cost: a small one, or anything at all.
func (p *tape) cost() int64 {
	if cost := p.byte(); cost < 200 {
		return int64(cost % 16)
	}
	return p.int64()
}

func FuzzBucket(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{35, 5, 0, 0, 5, 0, 1, 1, 1, 10, 9, 2, 3, 4})                         // small steps
	f.Add([]byte("\x13\x05\x00\x00\x05\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01")) // to the end of time
	f.Add([]byte("\xff\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\xca\x9a\x3b\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x03\x00\x20"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := tape(data)
		b, err := NewBucket(p.limit())
		if err != nil {
			var v *ValueError
			require.ErrorAs(t, err, &v)
			return
		}
		o := newOracle(b.era.Load().terms, math.MinInt64)
		now := int64(0)
		for n := 0; n < 500 && len(p) > 0; n++ { // a long input tells no more than several short ones
			op := p.byte()
			at := p.now(now)
			if op%8 == 7 {
				l := p.limit()
				terms, want := compile(l, "Limit")
				err := b.SetLimit(time.Duration(at), l)
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(err)) // in words, as a NaN in one doesn't equal itself
				if want == nil {
					now = at
					o.setTerms(now, terms)
				}
				check(t, b, o)
				continue
			}
			cost := p.cost()
			if checkCost(cost) == nil {
				now = at // an error shows nothing of the clock
			}
			switch op % 8 {
			case 0, 1, 2, 3:
				d, err := b.Allow(time.Duration(at), cost)
				require.Equal(t, checkCost(cost), err)
				if err == nil {
					require.Equal(t, o.allow(now, cost), d)
					checkRetry(t, b, now, cost, d)
				}
			case 4, 5:
				err := b.Charge(time.Duration(at), cost)
				require.Equal(t, checkCost(cost), err)
				if err == nil {
					o.charge(now, cost)
				}
			case 6:
				err := b.Refund(time.Duration(at), cost)
				require.Equal(t, checkCost(cost), err)
				if err == nil {
					o.refund(now, cost)
				}
			}
			if o.latest > math.MinInt64 {
				check(t, b, o)
			}
		}
	})
}

func FuzzLimiter(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{35, 5, 2, 0, 0, 'a', 5, 0, 0, 'b', 1, 0, 0, 'c', 1, 0, 250, 'd', 1, 4, 0, 8, 1, 'a'})
	f.Add([]byte("\x10\x03\x01\x00\x00x\x03\x06\x00x\x23\x09\x00\x00x\x01\x07\x00x\x05\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := tape(data)
		c := LimiterConfig{Default: p.limit(), MaxTenants: 1 + int(p.byte()%8)}
		l, err := NewLimiter(c)
		if err != nil {
			var v *ValueError
			require.ErrorAs(t, err, &v)
			return
		}
		m := newModel(l)
		now := int64(0)
		for n := 0; n < 500 && len(p) > 0; n++ { // a long input tells no more than several short ones
			op := p.byte() % 8
			now = p.now(now)
			name := string(rune('a' + p.byte()%16))
			cost := min(max(p.cost(), 1), MaxCost)
			switch op {
			case 0, 1, 2:
				m.allow(t, now, name, cost)
			case 3:
				m.charge(t, now, name, cost)
			case 4:
				m.refund(t, now, name, cost)
			case 5:
				m.sweep(t, now)
			case 6, 7:
				limit := p.limit()
				if _, err := compile(limit, "Limit"); err != nil {
					m.clearLimit(t, now, name)
				} else if op == 6 {
					m.setLimit(t, now, name, limit)
				} else {
					m.setDefault(t, now, limit)
				}
			}
			m.check(t)
		}
	})
}
