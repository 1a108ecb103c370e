package fairness

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzMaxMin reads the capacity and up to six pairs of demand and weight as the
// bits of float64s, valid or not, and as uint64s.
func FuzzMaxMin(f *testing.F) {
	seed := func(xs ...float64) {
		var data []byte
		for _, x := range xs {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
		}
		f.Add(data)
	}
	seed(10, 2, 1, 2.6, 1, 4, 1, 5, 1)
	seed(1, 1, 1, 1, 1e-20)
	seed(math.MaxFloat64, math.Inf(1), 1e308, 5e-324, 1e308, 1, 0)
	seed(1e300, 1e-300, 1, 5e299, 1, math.Inf(1), 1)
	seed(1, math.NaN(), 1, -1, math.Inf(1))
	f.Fuzz(func(t *testing.T, data []byte) {
		var words []uint64
		for ; len(data) >= 8 && len(words) < 13; data = data[8:] {
			words = append(words, binary.LittleEndian.Uint64(data))
		}
		if len(words) == 0 {
			return
		}
		var demands, weights []float64
		var whole, wholeWeights []uint64
		valid := math.Float64frombits(words[0]) >= 0
		for i := 1; i+1 < len(words); i += 2 {
			d, w := math.Float64frombits(words[i]), math.Float64frombits(words[i+1])
			valid = valid && d >= 0 && w >= 0 && w <= math.MaxFloat64
			demands, weights = append(demands, d), append(weights, w)
			whole, wholeWeights = append(whole, words[i]), append(wholeWeights, words[i+1]/6)
		}
		maxMinWhole(t, whole, words[0], wholeWeights)
		got, err := MaxMin(demands, math.Float64frombits(words[0]), weights)
		if !valid {
			var e *ValueError
			require.ErrorAs(t, err, &e)
			require.Nil(t, got)
			return
		}
		require.NoError(t, err)
		if capacity := math.Float64frombits(words[0]); !math.IsInf(capacity, 1) {
			maxMinChecked(t, demands, capacity, weights)
		}
	})
}
