package drr

import (
	"encoding/binary"
	"testing"
)

// FuzzQueue reads a byte string as a configuration and a sequence of calls,
// and compares the queue with the round-by-round ring after each.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 0, 0})
	f.Add([]byte("\x05\x00\x00\x10a\x01\x10b\x05\x20\x20\x10a\x09\x30\x01\x40a\x02\x20"))
	f.Add([]byte("\x00\x03\x02\x00\x01\x00\x02\x00\x03\x50\x01\x20\x58\x01\x20\x60\x11\x20\x20"))
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() byte {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return b
		}
		quantum := int64(next()) + 1
		p, err := newPair(Config{Quantum: quantum, MaxDepth: int(next() % 16), MaxTenantDepth: int(next() % 8)}, sound)
		if err != nil {
			t.Fatal(err)
		}
		name := func(b byte) string { return string(rune('a' + b%5)) }
		cost := func() int64 { // up to 256 quanta, so that the ring ends
			var b [2]byte
			b[0], b[1] = next(), next()
			return 1 + int64(binary.LittleEndian.Uint16(b[:]))*quantum/256
		}
		for steps := 0; len(data) > 0 && steps < 400; steps++ {
			op := next()
			var err error
			switch op >> 4 {
			case 0, 1, 2, 3, 4:
				err = p.push(name(op), cost(), op&8 != 0)
			case 5, 6, 7, 8, 9:
				if err = p.pop(); err == nil && op&1 != 0 {
					err = p.peek()
				}
			case 10:
				if n := len(p.ids); n > 0 {
					err = p.cancel(p.ids[int(next())*n/256])
				}
			case 11:
				more, less := cost(), cost()
				err = p.charge(name(op), more-less, op&8 != 0)
			case 12:
				err = p.setWeight(name(op), float64(1+next()%64)/8)
			case 13:
				err = p.block(name(op))
			case 14:
				err = p.unblock(name(op))
			default:
				if op&8 != 0 {
					err = p.forgive()
				} else {
					err = p.setMaxDepth(name(op), 1+int(next()%8))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
