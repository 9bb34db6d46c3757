# shellcheck shell=bash disable=SC2034,SC2154 # variables that series.sh and git.sh share
# The series for the kernel. Sourced by series.sh.

DRIVER=drivers/infiniband/sw/kwarp
PAGES=Documentation/infiniband/kwarp
SELFTEST=tools/testing/selftests/drivers/infiniband/kwarp

# The base from the bottom of the driver to its top, then the extensions.
KERNEL_PATCHES=(uapi proto core llp rdmap cm verbs device
	resources counters dmabuf windows coalesce ooo sctp attach rendezvous
	documentation selftests)

# kernel_tree DIR: checks that DIR is a source tree of the right kernel without the driver
kernel_tree() {
	local version patch
	[ -f "$1/drivers/infiniband/sw/siw/siw_main.c" ] ||
		fail "KERNEL='$1' is not a source tree of Linux; unpack $SERIES_KERNEL" \
			"(https://www.kernel.org, or Debian's linux-source-$SERIES_KERNEL) and" \
			'give its folder'
	version=$(sed -n 's/^VERSION = //p' "$1/Makefile")
	patch=$(sed -n 's/^PATCHLEVEL = //p' "$1/Makefile")
	[ "$version.$patch" = "$SERIES_KERNEL" ] ||
		fail "KERNEL='$1' is Linux $version.$patch; the rules in" \
			"scripts/series/kernel/rules are for $SERIES_KERNEL"
	[ ! -e "$1/$DRIVER" ] || fail "KERNEL='$1' has a $DRIVER already; give a tree without it"
}

# ---- the final state

# compat_names: prints the names that kernel/compat.h defines for other files. Names that it only
# declares are defined in a file of the driver and not printed.
compat_names() {
	awk '
		/^#define / { name = $2; sub(/\(.*/, "", name) }
		/^[a-z].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
		name != "" && name != "_KWARP_COMPAT_H" { print name }
		{ name = "" }' "$TOP/kernel/compat.h" | LC_ALL=C sort -u | while read -r name; do
		grep -rqE --include='*.c' "^[a-z].*\b$name\(" "$TOP/kernel" || echo "$name"
	done
}

# apply_rules FOLDER
apply_rules() {
	local name rule sources=() missing left
	mapfile -t sources < <(find "$1" -name '*.[ch]' | LC_ALL=C sort)
	while IFS=$'\t' read -r name rule; do
		[ "$rule" = - ] || by_rule "$rule" "${sources[@]}"
	done < <(rules kernel/rules)
	missing=$(LC_ALL=C comm -23 <(compat_names) \
		<(rules kernel/rules | cut -f 1 | LC_ALL=C sort -u))
	[ -z "$missing" ] || fail "kernel/rules has no rule for these names of kernel/compat.h:" \
		"${missing//$'\n'/ }"
	left=$(grep -nwF -e LINUX_VERSION_CODE -e compat.h -f <(compat_names) "${sources[@]}" || :)
	[ -z "$left" ] || fail "kernel/rules leaves: ${left//"$1/"/}"
}

# driver_makefile: prints the Makefile, made from Kbuild
driver_makefile() {
	cat <<-'END'
		# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
		# From the wire format up to verbs: each folder calls those above it here only.

		obj-$(CONFIG_RDMA_KWARP) := kwarp.o

	END
	sed -nE '/^kwarp-y := /,/^ccflags/p' "$TOP/Kbuild" |
		sed -E -e '/^#.*tests|KWARP_TEST|^ccflags|^endif/d' -e 's|kernel/||g' \
			-e '/^ifneq/,/^$/s/^kwarp-y/kwarp-$(CONFIG_RDMA_KWARP_SCTP)/' \
			-e '/^ifneq/d' \
			-e 's/^(# llp: SCTP).*/\1/' \
			-e 's/^kwarp-y( .*sctp_session)/kwarp-$(CONFIG_RDMA_KWARP_SCTP)\1/' \
			-e 's/^kwarp-y :=/kwarp-y +=/'
	echo 'ccflags-y := -I$(src)'
}

# maintainers: inserts the entry at its place
maintainers() {
	awk -v entry="$SERIES/kernel/MAINTAINERS" -v author="$AUTHOR_NAME <$AUTHOR_MAIL>" '
		function insert(	line) {
			while ((getline line <entry) > 0) {
				sub(/@AUTHOR@/, author, line)
				print line
			}
			done = 1
		}
		BEGIN { getline title <entry; close(entry) }
		!done && began && last == "" && /^[A-Z0-9]/ && !/^[A-Z]:/ && $0 > title {
			insert()
		}
		/^[ \t]*-+$/ { began = 1 }
		{ print; last = $0 }
		END { exit !done }' "$orig/MAINTAINERS" >"$final/MAINTAINERS" ||
		fail 'MAINTAINERS has no place for the entry'
}

kernel_final() {
	local file folder=$final/$DRIVER
	from_tree "$1" include/uapi/rdma/ib_user_ioctl_verbs.h drivers/infiniband/Kconfig \
		drivers/infiniband/sw/Makefile MAINTAINERS Documentation/infiniband/index.rst \
		tools/testing/selftests/Makefile

	mkdir -p "$folder" "$final/include/uapi/rdma"
	cp -R "$TOP/kernel/." "$folder"
	rm "$folder/compat.h" "$folder/exports.c"
	apply_rules "$folder"
	driver_makefile >"$folder/Makefile"
	cp "$SERIES/kernel/Kconfig" "$folder/Kconfig"
	cp "$TOP"/include/uapi/rdma/*.h "$final/include/uapi/rdma"
	by_rule 's|/\* "kw": private to kwarp[^/]*\*/\n[^\n]*\n\n||' \
		"$final/include/uapi/rdma/kwarp-abi.h"
	by_rule "s|Documentation/|$PAGES/|" "$final/include/uapi/rdma/kwarp-abi.h"

	by_line '/^enum rdma_driver_id/,/^\}/s/^\};/\tRDMA_DRIVER_KWARP,\n&/' \
		"$final/include/uapi/rdma/ib_user_ioctl_verbs.h"
	by_line 's|^source "drivers/infiniband/sw/rxe/Kconfig"|source "'$DRIVER'/Kconfig"\n&|' \
		"$final/drivers/infiniband/Kconfig"
	by_line 's|^obj-\$\(CONFIG_RDMA_RXE\)|obj-$(CONFIG_RDMA_KWARP)\t\t+= kwarp/\n&|' \
		"$final/drivers/infiniband/sw/Makefile"
	maintainers

	by_line 's|^   ipoib|&\n   kwarp/index|' "$final/Documentation/infiniband/index.rst"
	pages "$final/$PAGES"
	by_line 's|^TARGETS \+= drivers/ntsync|TARGETS += drivers/infiniband/kwarp\n&|' \
		"$final/tools/testing/selftests/Makefile"
	mkdir -p "$final/$SELFTEST"
	cp -p "$TOP"/tests/kselftest/* "$final/$SELFTEST"
	for file in "$final/$SELFTEST"/{lib,link,rping}.sh; do
		chmod 755 "$file"
	done
}

# any_break RULE: prints the rule s/PATTERN/…/ such that each blank and each line break of the
# pattern matches both: a paragraph that is filled again still fits
any_break() {
	[[ $1 =~ ^s/(([^/\\]|\\.)*)(/.*)$ ]] || fail "not s/PATTERN/…/: $1"
	printf 's/%s%s\n' "$(sed -E 's/ |(^|[^^])\\n/\1[ \\n]/g' <<<"${BASH_REMATCH[1]}")" \
		"${BASH_REMATCH[3]}"
}

# pages FOLDER: writes the pages that concern the kernel
pages() {
	local page rule name all=()
	mkdir -p "$1/pictures"
	cp "$SERIES/kernel/index.rst" "$1"
	cp "$TOP/Documentation/pictures/layers.svg" "$1/pictures"
	while read -r name; do
		page=$1/$name.rst
		all+=("$page")
		{
			echo '.. SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause'
			echo
			cat "$TOP/Documentation/$name.rst"
		} >"$page"
	done < <(sed -n '/toctree/,$s/^   \([a-z]\)/\1/p' "$1/index.rst")
	while IFS=$'\t' read -r name rule; do
		rule=$(any_break "$rule")
		if [ "$name" = - ]; then
			by_rule "$rule" "${all[@]}"
		else
			by_rule "$rule" "$1/$name.rst"
		fi
	done < <(rules kernel/page-rules)
	while read -r name; do
		[ -f "$1/$name.rst" ] ||
			fail "kernel/page-rules leaves a link to $name.rst, but not the page"
	done < <(grep -ohE ':doc:`[a-z]+' "${all[@]}" | cut -d'`' -f2 | LC_ALL=C sort -u)
	! grep -nE '<[a-z]+\.rst>`_|kwarpctl|userspace/|tests/|scripts/|suite ``|compat\.h' \
		"${all[@]}" >&2 || fail 'kernel/page-rules leaves names that are not in the tree'
}

# ---- the earlier states: see git.sh

# kernel_owner FILE: prints the patch that adds the file
kernel_owner() {
	case $1 in
	include/uapi/rdma/kwarp_user_ioctl_verbs.h) echo attach ;;
	include/uapi/*) echo uapi ;;
	drivers/infiniband/Kconfig | drivers/infiniband/sw/Makefile | MAINTAINERS) echo device ;;
	Documentation/*) echo documentation ;;
	tools/testing/selftests/*) echo selftests ;;
	*) driver_owner "${1#"$DRIVER"/}" ;;
	esac
}

driver_owner() {
	case $1 in
	Makefile) echo proto ;;
	verbs/restrack.*) echo resources ;;
	verbs/counter.c | verbs/stats.c) echo counters ;;
	verbs/mr_dmabuf.c) echo dmabuf ;;
	verbs/mw.c) echo windows ;;
	rdmap/coalesce.c) echo coalesce ;;
	proto/early.c | proto/mpa_find.* | llp/mpa/early.c | llp/mpa/cursor_early.c | \
		rdmap/early*.c) echo ooo ;;
	proto/sctp_session.* | llp/sctp/*) echo sctp ;;
	proto/mpa_start_key.* | llp/mpa/take.c | cm/attach.c | verbs/attach.c) echo attach ;;
	proto/rendezvous.c | cm/rendezvous.c | cm/meet.c | cm/rdv_port.c) echo rendezvous ;;
	kwarp.h | stats.h | trace.h | version.h) echo core ;;
	dev/* | main.c | trace.c | Kconfig) echo device ;;
	*/*) echo "${1%%/*}" ;;
	*) fail "no patch has $1" ;;
	esac
}

# kernel_state STATE APPLIED: removes the parts that later patches add to files of this state
kernel_state() {
	local state=$1 name
	for name in resources counters dmabuf windows coalesce ooo sctp attach rendezvous; do
		case $2 in *" $name "*) ;; *) "without_$name" ;; esac
	done
	[ ! -f "$state/$DRIVER/Makefile" ] || objects "$state/$DRIVER"
	[ ! -d "$state/$DRIVER" ] || included "$state/$DRIVER"
}

# included FOLDER: checks that the driver's headers that its files include are there
included() {
	local header
	while read -r header; do
		[ -f "$1/$header" ] || fail "a patch includes $header, which a later one adds"
	done < <(grep -rhoE '^#include "[^"]+' "$1" | cut -d'"' -f2 | LC_ALL=C sort -u)
}

# objects FOLDER: removes objects without source from the Makefile, and comments without objects
objects() {
	awk -v folder="$1" '
		/^#/ && NR > 2 { held = held $0 "\n"; next }
		/\.o$/ && !/^obj/ {
			kept = ""
			for (i = 3; i <= NF; i++) {
				source = folder "/" $i
				sub(/o$/, "c", source)
				if ((getline line <source) > 0)
					kept = kept " " $i
				close(source)
			}
			if (kept != "") {
				printf "%s%s %s%s\n", held, $1, $2, kept
				held = ""
				blank = 0
			}
			next
		}
		/^$/ { held = ""; if (blank) next }
		{ print; blank = /^$/ }' "$1/Makefile" >"$1/Makefile.new"
	mv "$1/Makefile.new" "$1/Makefile"
}

without_resources() {
	drop $DRIVER/dev/device.c '\.fill_res_|"verbs/restrack\.h"'
}

without_counters() {
	stub $DRIVER/verbs/counter.h kwarp_counter_leave 0
	drop $DRIVER/dev/device.c '\.counter_|\.(alloc_hw_port|get_hw)_stats|rdma_counter'
	drop $DRIVER/dev/device.c '"verbs/counter\.h"'
	part $DRIVER/stats.h '^struct ib_device;' '^#endif'
}

without_dmabuf() {
	drop $DRIVER/dev/device.c '\.reg_user_mr_dmabuf'
	stub $DRIVER/verbs/mr.h kwarp_dmabuf_put
}

without_windows() {
	drop $DRIVER/dev/device.c 'kwarp_(de)?alloc_mw|ib_mw, kwarp_mw'
	drop $DRIVER/dev/port.c 'IB_DEVICE_MEM_WINDOW|max_mw'
}

without_coalesce() {
	stub $DRIVER/rdmap/tx.h kwarp_pause_init
	stub $DRIVER/rdmap/tx.h kwarp_pause_exit
	stub $DRIVER/rdmap/tx.h kwarp_tx_coalesce_exit
	stub $DRIVER/rdmap/tx.h kwarp_tx_woken
	stub $DRIVER/rdmap/tx.h kwarp_tx_coalesce false
}

without_ooo() {
	stub $DRIVER/rdmap/early.h kwarp_early_alloc 0
	stub $DRIVER/rdmap/early.h kwarp_early_free
	stub $DRIVER/rdmap/early.h kwarp_early_is_placed false
	stub $DRIVER/rdmap/early.h kwarp_early_withdraw
	stub $DRIVER/rdmap/early.h kwarp_rx_early
	stub $DRIVER/proto/early.h kwarp_ledger_drop_before
	stub $DRIVER/llp/mpa/mpa.h kwarp_mpa_placed_early NULL
	drop $DRIVER/llp/mpa/tcp.c '\.early_(begin|pull|end) = '
	without_policy ooo
}

without_sctp() {
	edited $DRIVER/Kconfig sed -z 's/\nconfig RDMA_KWARP_SCTP\n.*//'
}

without_attach() {
	stub $DRIVER/cm/ep.h kwarp_attach_key false
	stub $DRIVER/cm/ep.h kwarp_attach_request false
	stub $DRIVER/cm/ep.h kwarp_attach_done
	stub $DRIVER/cm/ep.h kwarp_attach_put
	stub $DRIVER/cm/cm.h kwarp_cm_attach_forget
	part $DRIVER/cm/cm.h '^/\* Bytes passed by a program' '^/\* Drop the result'
	stub $DRIVER/llp/socket.h kwarp_take_close
	part $DRIVER/llp/llp.h '^void kwarp_take_exit' '^/\*$'
	drop $DRIVER/main.c 'kwarp_take_exit'
	drop $DRIVER/dev/device.c 'driver_def = |KWARP_FEATURE_ATTACH|ATTACH_MESSAGE_MAX'
	drop $DRIVER/verbs/verbs.h 'kwarp_uapi_defs|^/\* attach\.c: driver'
	part include/uapi/rdma/kwarp-abi.h '^/\* Optional features,' '^/\* Optional: a provider'
	part include/uapi/rdma/kwarp-abi.h '---- attached sockets' '^#endif'
	drop include/uapi/rdma/kwarp-abi.h '<rdma/kwarp_user_ioctl_verbs\.h>'
}

without_rendezvous() {
	stub $DRIVER/cm/ep.h kwarp_meet_request false
	stub $DRIVER/cm/ep.h kwarp_meet_reply_ok true
	stub $DRIVER/cm/ep.h kwarp_meet_made
	stub $DRIVER/cm/ep.h kwarp_rdv_unclaim
	stub $DRIVER/cm/ep.h kwarp_rdv_module_init 0
	stub $DRIVER/cm/ep.h kwarp_rdv_module_exit
	stub $DRIVER/cm/cm.h kwarp_rdv_init
	stub $DRIVER/cm/cm.h kwarp_rdv_begin -EOPNOTSUPP
	stub $DRIVER/cm/cm.h kwarp_rdv_sends -EINVAL
	stub $DRIVER/cm/cm.h kwarp_rdv_cancel
	stub $DRIVER/cm/cm.h kwarp_rdv_set_port 'port ? -EOPNOTSUPP : 0'
	part $DRIVER/dev/policy.c '---- rendezvous_port ---' '---- keywords ---'
	without_policy rendezvous_ack
	drop $DRIVER/dev/policy.c '&rendezvous_port_attr'
}

# without_policy KEY: a number that has no effect yet
without_policy() {
	part $DRIVER/dev/policy.c "^static struct uint_attr $1_attr = " '^$'
	drop $DRIVER/dev/policy.c "&$1_attr"
}
