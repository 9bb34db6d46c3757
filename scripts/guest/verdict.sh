# shellcheck shell=bash
# verdict.sh: determines the result of a run from the logs of the guest and the status of the
# emulator. Sourced by lib.sh and kwarp-vm.

# Kernel messages that report a fault. The word "error" alone is too common.
KERNEL_COMPLAINTS='WARNING:|BUG:|KASAN|UBSAN|possible circular locking|possible recursive locking'
KERNEL_COMPLAINTS+='|inconsistent lock state|suspicious RCU usage|bad unlock balance'
KERNEL_COMPLAINTS+='|lock held when returning|INFO: task|INFO: rcu|Call Trace|refcount_t|Oops'
KERNEL_COMPLAINTS+='|Kernel panic|soft lockup|hung_task|unreferenced object|ODEBUG'
KERNEL_COMPLAINTS+='|scheduling while atomic|sleeping function called|invalid opcode|divide error'
KERNEL_COMPLAINTS+='|register non-static key|BUG [A-Za-z0-9_-]+ \(|cannot create duplicate filename'
KERNEL_COMPLAINTS+='|list_(add|del) corruption|kernel BUG at'
KERNEL_COMPLAINTS+='|[Uu]nable to handle kernel|unregister_netdevice: waiting for'
KERNEL_COMPLAINTS+='|Attempt to release (TCP socket in state|alive)|hangs in kwarp: '
# Not every message of ref_tracker: it also reports that it had no memory, as tests/verbs/faults
# wants, and the users of a netdev follow "waiting for".
KERNEL_COMPLAINTS+='|ref_tracker: (reference already released|net_.* users at)'
# Messages among these that a lack of processor time for the guest causes, too.
KERNEL_STALLS='soft lockup|INFO: rcu|INFO: task|hung_task|BUG: workqueue lockup'

# kernel_complaints FILE...: prints the lines that match; prints nothing and fails if the logs are
# clean. Ignored are: messages before the "guest ready" line, which concern the machine; the trace
# of a vmalloc() that tests/verbs/faults makes fail; lockdep's reports about the NVMe target, which
# occur with any RDMA device (the target takes nvmet_config_sem inside a connection's handler_mutex,
# and a listener's handler_mutex inside nvmet_config_sem); lockdep's reports about siw, which takes
# sk_callback_lock for reading with bottom halves enabled and for writing inside them; and the wait
# for the netdev that tests/vm/nvme-removal.test.sh deletes while the kernel's NVMe host uses it.
#
# A hung task may be due to the machine, unless its call trace passes through the module: such a
# trace adds a line "hangs in kwarp".
kernel_complaints() {
	local file
	for file; do
		if grep -aqs 'kwarp: guest ready' "$file"; then
			sed '0,/kwarp: guest ready/d' "$file"
		else
			cat "$file" 2>/dev/null || :
		fi
	done | sed '/\bfaults: vmalloc error/,/Call Trace:/d
		/unregister_netdevice: waiting for nvmegone0 to become free/d' | awk '
		function known() {
			return report ~ /\(nvmet_config_sem\)/ && report !~ /\[kwarp\]/ ||
				report ~ / takes:\n[^\n]* at: siw_[^\n]*\n/
		}
		/INFO: task .* blocked/ { hung = 1 }
		/<\/TASK>|Showing all locks held|lockdep is turned off/ { hung = 0 }
		hung && /\[kwarp\]/ {
			print "hangs in kwarp: " $0
			hung = 0
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

# kernel_defects FILE: prints the complaints in FILE that are not stalls, nor the call traces that
# follow a stall. A call trace without a stall belongs to a report that is not in the list above.
kernel_defects() {
	local stalls=$KERNEL_STALLS
	! grep -aqE "$stalls" "$1" || stalls+='|Call Trace'
	grep -avE "$stalls" "$1"
}

# not_files FOLDER NAME...: prints the names in FOLDER of what is not a regular file. A guest can
# leave a symbolic link to any file of this machine, or a pipe without an end.
not_files() {
	local folder=$1 name
	shift
	for name; do
		name=$folder/$name
		[ -L "$name" ] || { [ -e "$name" ] && [ ! -f "$name" ]; } || continue
		echo "${name##*/}"
	done
}

# guest_verdict RESULTS EMULATOR_STATUS LIMIT [STATUS [OWN [SHOWN]]]: returns the command's status;
# 125 if the kernel logged a fault or died; STATUS (125) if the time limit was reached. The guest
# can write to the folder RESULTS. OWN (RESULTS) has the console's log and gets the file
# "complaints"; messages call this folder SHOWN.
guest_verdict() {
	local results=$1 rc=$2 limit=$3 late=${4:-125} own=${5:-$1} odd status
	local shown=${6:-$own}
	odd=$(not_files "$results" status kernel.log && not_files "$own" console.log)
	[ -z "$odd" ] || {
		echo "the guest left ${odd//$'\n'/, }, which is not a file" >&2
		return 125
	}
	# The emulator has ended, so the guest cannot replace the file again.
	rm -rf "${own:?}/complaints"
	if kernel_complaints "$own/console.log" "$results/kernel.log" >"$own/complaints"; then
		echo "the kernel complained; see console.log and kernel.log in $shown:" >&2
		sort -u "$own/complaints" | head -n 20 >&2
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
		tail -n 20 "$own/console.log" >&2
		return "$late"
	fi
	status=$(head -c 9 "$results/status")
	[[ $status =~ ^[0-9]{1,3}$ ]] || {
		echo 'the guest left no number as the exit status' >&2
		return 125
	}
	return $((10#$status))
}
