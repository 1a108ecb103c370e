// Package fairness divides a capacity among tenants by weighted max-min
// fairness and measures how fairly a capacity was divided.
//
// # Dividing
//
// [MaxMin] gives everybody the same share for each unit of weight, except that
// nobody gets more than its demand; what a tenant leaves is divided among those
// that want more. No tenant can then get more without another, whose share for
// each unit of weight is no larger, getting less: a tenant that is short never
// sees a better served one. This is the only such division (Bertsekas and
// Gallager, Data Networks, 2nd ed. 1992, section 6.5.2).
//
// # Measuring
//
// [Jain] and [WeightedJain] say in one number how equal shares are over all
// tenants (Jain, Chiu and Hawe, DEC-TR-301, 1984). [MinShare] says how much of
// what it was entitled to the worst-off tenant received. Set the alarm on
// MinShare: with 99 tenants served alike and one starved, Jain's index is still
// 0.99, and MinShare is 0.
//
// Measure those that had demand, each against its max-min share of the window:
// a tenant that asked for little has received little by its own wish.
//
// # Numbers
//
// All functions take floating-point and integer types. With integers MaxMin is
// exact and hands out every unit. With floating-point numbers it decides who
// is short by exact arithmetic, and rounds only the shares of those, downwards;
// the shares never add up to more than the capacity. Results are the same on
// every platform.
//
// The functions keep no state, change none of their arguments, and may be
// called by several goroutines at once. They allocate, so they belong in a
// report, a window or a planner rather than on the path of each request.
package fairness
