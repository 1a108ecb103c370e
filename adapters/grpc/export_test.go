package grpcgate

// Pushback is for the tests.
var Pushback = pushback
