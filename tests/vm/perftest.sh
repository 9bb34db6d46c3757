# shellcheck shell=bash
# For the suites of perftest, after lib.sh.

# perf PROGRAM OPTION...: server on B, client on A, and the client's table has sensible figures.
perf() {
	ok "$*" perftest_pair on_b on_a "${ADDRESS:-$IP_B}" "$@"
	cp "$WORK/out" "$WORK/client"
	ok "$*: server" finish perftest
	report "$(figures_bad "$WORK/client")" "$*: figures" "$WORK/client"
}

# figures_bad FILE: 0 if the table has a line, and each has a bandwidth, message rate or typical latency above zero
# (few large messages on a slow machine are 0.000000 million a second); else 1. Where others disturb its
# measurement of the processor's clock perftest says so, and its figures are 0 or inf: then the line has to do.
figures_bad() {
	awk '/Correlation coefficient/ { no_clock = 1 }
		$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 5 { n++; if (!no_clock && (!($4 > 0 || $5 > 0) || $5 == "inf")) bad = 1 }
		END { print !(n && !bad) }' "$1"
}
