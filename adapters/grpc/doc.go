// Package grpcgate puts a [drr.Gate] in front of a gRPC server: no tenant's
// burst of calls delays another that stays within its share, and every refusal
// tells the client why and when to come back.
//
//	gate, err := drr.NewGate(drr.GateConfig{Slots: 32})
//	// ...
//	server := grpc.NewServer(
//		grpc.UnaryInterceptor(grpcgate.UnaryServerInterceptor(gate, grpcgate.Options{})),
//		grpc.StreamInterceptor(grpcgate.StreamServerInterceptor(gate, grpcgate.Options{})))
//
// Each call acquires its tenant's seats from the gate, waits in fair order if
// none are free, runs, and releases them when its handler returns or panics. The
// handler finds its grant with [GrantFromContext]. One gate may serve any number
// of interceptors and servers.
//
// # What a refused client sees
//
//	drr.Reason     code               ErrorInfo.Reason   RetryInfo  grpc-retry-pushback-ms
//	TenantFull     ResourceExhausted  TENANT_QUEUE_FULL  yes        RetryAfter
//	Full           Unavailable        QUEUE_FULL         yes        RetryAfter
//	WaitedTooLong  Unavailable        WAITED_TOO_LONG    yes        RetryAfter
//	NeverFits      ResourceExhausted  NEVER_FITS         no         -1: don't retry
//	Closed         Unavailable        CLOSED             no         none: try another server
//
// The handler has run for none of them, so all are safe to retry. The details
// are those of google.rpc (error_details.proto); the trailer is the server
// pushback of gRFC A6, which a gRPC client with a retry policy obeys by itself.
//
// WaitedTooLong isn't DeadlineExceeded: that is the client's own deadline, after
// which it can't know whether the call has run, while here it hasn't, and the
// deadline was the server's. NeverFits is ResourceExhausted, as a message over
// the size limit is in gRPC itself, and not InvalidArgument, since it depends on
// the gate's slots and caps, which may change; without a RetryInfo that code
// means that retrying doesn't help.
//
// If the client cancels or its deadline passes while it waits, its place is free
// at once, the handler never runs, and the code is Canceled or DeadlineExceeded.
// A cost or a number of seats that the gate can't take is InvalidArgument.
//
// # Limits
//
//   - An interceptor for panics belongs outside of these (before them in a chain),
//     and so does authentication, if Options.Tenant relies on it.
//   - A stream has its seats until its handler returns, however long it idles. Its
//     Cost and Seats are asked before any of its messages is read.
//   - gRPC reads a unary call's message before the interceptors run, so a call that
//     waits holds its message and a goroutine: bound the gate's MaxDepth.
//   - Server.GracefulStop waits for the calls that wait. Call Gate.Close first to
//     refuse these, or Gate.Shutdown to let them run.
package grpcgate
