package drr

// A line is a queue of tenants sorted by place, in a circular buffer. One that
// leaves from the middle leaves a gap; gaps at either end are closed at once,
// so that a tenant can be behind at most one gap, and the first and last slots
// in use always hold tenants.
type line[K comparable, T any] struct {
	slots      []*tenant[K, T] // as many as a power of two
	head, tail int             // positions count up; position p is in slot p mod len(slots)
}

func (l *line[K, T]) empty() bool { return l.head == l.tail }

// first returns the tenant at the front. The line must not be empty.
func (l *line[K, T]) first() *tenant[K, T] { return l.slots[l.head&(len(l.slots)-1)] }

// sorts reports whether l stays sorted with t at its end.
func (l *line[K, T]) sorts(t *tenant[K, T]) bool {
	return l.head == l.tail || l.slots[(l.tail-1)&(len(l.slots)-1)].place.before(t.place)
}

func (l *line[K, T]) append(t *tenant[K, T]) {
	if l.tail-l.head == len(l.slots) {
		l.grow()
	}
	l.slots[l.tail&(len(l.slots)-1)] = t
	t.index = l.tail
	l.tail++
}

// shift takes out the first tenant.
func (l *line[K, T]) shift() {
	l.head++
	if l.slots[l.head&(len(l.slots)-1)] == nil {
		l.closeGaps()
	}
}

// remove takes t out; t must be in l.
func (l *line[K, T]) remove(t *tenant[K, T]) {
	l.slots[t.index&(len(l.slots)-1)] = nil
	l.closeGaps()
}

func (l *line[K, T]) closeGaps() {
	mask := len(l.slots) - 1
	for l.head != l.tail && l.slots[l.head&mask] == nil {
		l.head++
	}
	for l.head != l.tail && l.slots[(l.tail-1)&mask] == nil {
		l.tail--
	}
}

func (l *line[K, T]) grow() {
	old := *l
	l.slots = make([]*tenant[K, T], max(8, 2*len(old.slots)))
	l.head, l.tail = 0, 0
	for p := old.head; p != old.tail; p++ {
		if t := old.slots[p&(len(old.slots)-1)]; t != nil {
			l.append(t)
		}
	}
}

// trim gives the memory of a line that is empty back if few tenants are left.
func (l *line[K, T]) trim(tenants int) {
	if len(l.slots) > 1024 && tenants < len(l.slots)/4 {
		*l = line[K, T]{}
	}
}
