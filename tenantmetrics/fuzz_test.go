package tenantmetrics

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzReducer reads calls from bytes: one for the call and its outcome, one for
// the length of the name, then the name. With counters for everybody the report
// must be the oracle's; with two it must keep its promises.
func FuzzReducer(f *testing.F) {
	f.Add([]byte("\x00\x01a\x01\x01b\x02\x01a\x04\x00\x05\x01a\x00\x01a\x04\x00"), uint8(2), uint8(1), uint8(3))
	f.Add([]byte("\x00\x09__other__\x01\x00\x02\x02\xff\xfe\x05\x09__other__\x03\x09__other__"), uint8(1), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, calls []byte, topK, topRefused, maxNames uint8) {
		config := Config{TopK: int(topK), TopRefused: int(topRefused), MaxNames: int(maxNames), Counters: 1000}
		r, err := New(config)
		if err != nil {
			var e *ValueError
			require.ErrorAs(t, err, &e)
			return
		}
		few := newReducer(t, Config{TopK: 2, TopRefused: 1, Counters: 2, MaxNames: int(maxNames) + 2})
		p := newPlain(config)
		flush := func() {
			truth := p.truth
			checkReport(t, few.config, truth, few.Flush())
			got, want := r.Flush(), p.flush()
			checkReport(t, config, truth, got)
			require.Equal(t, want.Series, got.Series)
			require.Equal(t, want.Unnamed, got.Unnamed)
			require.Equal(t, append([]Refusal{}, want.Refused...), append([]Refusal{}, got.Refused...))
		}
		for n := 0; len(calls) >= 2 && n < 500; n++ {
			call := calls[0] % 6
			length := min(int(calls[1]), len(calls)-2)
			name := string(calls[2 : 2+length])
			calls = calls[2+length:]
			switch {
			case call < 4:
				require.NoError(t, r.Add(name, Outcome(call), int64(length)+1))
				require.NoError(t, few.Add(name, Outcome(call), int64(length)+1))
				p.add(name, Outcome(call), int64(length)+1)
			case call == 4:
				flush()
			default:
				r.Delete(name)
				few.Delete(name)
				p.delete(name)
			}
			checkSketch(t, &r.all)
			checkSketch(t, &few.all)
			checkSketch(t, &few.refused)
		}
		flush()
	})
}
