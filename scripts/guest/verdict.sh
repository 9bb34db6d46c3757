# shellcheck shell=bash
# verdict.sh: determines the result of a run from the logs of the guest and the status of the
# emulator. Sourced by lib.sh and kwarp-vm.

# Kernel messages that report a fault. The word "error" alone is too common.
KERNEL_COMPLAINTS='WARNING:|BUG:|KASAN|UBSAN|possible circular locking|possible recursive locking'
KERNEL_COMPLAINTS+='|inconsistent lock state|suspicious RCU usage|bad unlock balance'
KERNEL_COMPLAINTS+='|lock held when returning|INFO: task|INFO: rcu|Call Trace|refcount_t|Oops'
KERNEL_COMPLAINTS+='|Kernel panic|soft lockup|hung_task|unreferenced object|ODEBUG'
KERNEL_COMPLAINTS+='|scheduling while atomic|sleeping function called|invalid opcode|divide error'
# Messages among these that a lack of processor time for the guest causes, too.
KERNEL_STALLS='soft lockup|INFO: rcu|INFO: task|hung_task|BUG: workqueue lockup'

# kernel_complaints FILE...: prints the lines that match; prints nothing and fails if the logs are
# clean. Ignored are: messages before the "guest ready" line, which concern the machine; the trace
# of a vmalloc() that tests/verbs/faults makes fail; lockdep's reports about the NVMe target, which
# occur with any RDMA device (the target takes nvmet_config_sem inside a connection's handler_mutex,
# and a listener's handler_mutex inside nvmet_config_sem); and lockdep's reports about siw, which
# takes sk_callback_lock for reading with bottom halves enabled and for writing inside them.
kernel_complaints() {
	local file
	for file; do
		if grep -aqs 'kwarp: guest ready' "$file"; then
			sed '1,/kwarp: guest ready/d' "$file"
		else
			cat "$file" 2>/dev/null || :
		fi
	done | sed '/\bfaults: vmalloc error/,/Call Trace:/d' | awk '
		function known() {
			return report ~ /\(nvmet_config_sem\)/ && report !~ /\[kwarp\]/ ||
				report ~ / takes:\n[^\n]* at: siw_[^\n]*\n/
		}
		/WARNING: (possible circular locking|inconsistent lock state)/ {
			report = ""
			inside = 1
		}
		inside { report = report $0 "\n" }
		inside && /Call Trace:/ {
			inside = 0
			if (!known())
				printf "%s", report
			next
		}
		!inside
		END { if (inside) printf "%s", report }' | grep -aE "$KERNEL_COMPLAINTS"
}

# kernel_defects FILE: prints the complaints in FILE that are not stalls
kernel_defects() {
	grep -avE "$KERNEL_STALLS|Call Trace" "$1"
}

# guest_verdict RESULTS EMULATOR_STATUS LIMIT [STATUS]: returns the command's status; 125 if the
# kernel logged a fault or died; STATUS (125) if the time limit was reached.
guest_verdict() {
	local results=$1 rc=$2 limit=$3 late=${4:-125}
	if kernel_complaints "$results/console.log" "$results/kernel.log" \
		>"$results/complaints"; then
		echo "the kernel complained; see $results/console.log and kernel.log:" >&2
		sort -u "$results/complaints" | head -n 20 >&2
		return 125
	fi
	if [ ! -s "$results/status" ]; then
		if [ "$rc" -eq 124 ]; then
			echo "time limit of $limit s reached" >&2
		else
			late=125
		fi
		echo "the guest ended without a result (emulator status $rc);" \
			'end of its console:' >&2
		tail -n 20 "$results/console.log" >&2
		return "$late"
	fi
	return "$(cat "$results/status")"
}
