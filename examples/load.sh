#!/usr/bin/env bash
# Floods an example server as tenant "heavy", and prints what the quiet tenants
# notice of it, without and with fair sharing. All traffic stays on this machine.
#
#	examples/load.sh httpserver
#	examples/load.sh workerpool
#
# The load comes from vegeta, through the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")"
example=${1:?httpserver or workerpool}
addr=127.0.0.1:${PORT:-18080}
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
go build -o "$dir/server" "./$example"
GOBIN=$dir GOWORK=off GOFLAGS=-mod=mod go install github.com/tsenart/vegeta/v12@v12.13.0

attack() { # tenant rate: a report on it
	echo "GET http://$addr/" | "$dir/vegeta" attack -header "Tenant: $1" -rate "$2" -duration 10s -timeout 30s -max-workers 3000 >"$dir/$1.bin"
	"$dir/vegeta" report -type json "$dir/$1.bin" |
		sed -E 's/.*"50th":([0-9]+).*"99th":([0-9]+).*"throughput":([0-9.]+).*"status_codes":\{([^}]*)\}.*/\1 \2 \3 \4/' |
		awk -v tenant="$1" '{ printf "  %-8s p50 %8.1f ms  p99 %8.1f ms  served %6.1f/s  statuses %s\n", tenant, $1/1e6, $2/1e6, $3, $4 }'
}

for fair in false true; do
	echo "$example, fair=$fair: heavy sends 2000/s, each of three quiet tenants 20/s; the server can do 800/s"
	"$dir/server" -addr "$addr" -fair="$fair" &
	server=$!
	until (exec 3<>"/dev/tcp/${addr%:*}/${addr#*:}") 2>/dev/null; do :; done
	attack heavy 2000 &
	loads=$!
	for tenant in ann bob cat; do
		attack "$tenant" 20 &
		loads="$loads $!"
	done
	wait $loads
	kill -INT "$server"
	wait "$server" || true
done
