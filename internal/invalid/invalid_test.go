package invalid

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValueErrorNamesFieldAndValue(t *testing.T) {
	for _, c := range []struct {
		err  ValueError
		want string
	}{
		{ValueError{"drr", "cost", int64(0), "1 or more"}, "drr: cost is 0, want 1 or more"},
		{ValueError{"drr", "weight", math.NaN(), "above 0"}, "drr: weight is NaN, want above 0"},
		{ValueError{"sim", "policy", "a\nb", "fifo or drr"}, `sim: policy is "a\nb", want fifo or drr`},
	} {
		require.EqualError(t, &c.err, c.want)
		wrapped := fmt.Errorf("loading: %w", errors.Join(errors.New("other"), &c.err))
		var got *ValueError
		require.ErrorAs(t, wrapped, &got)
		require.Equal(t, c.err.Field, got.Field)
	}
}
