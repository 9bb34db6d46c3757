#!/bin/sh
# module.sh KDIR OUT: builds the module against KDIR in its own folder (OUT/modules-VERSION) and
# leaves OUT/kwarp.ko. ARCH, W, C, CF, KCFLAGS reach Kbuild through the environment; JOBS is the
# number of jobs, by default that of the processors.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
kdir=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
kver=$(cat "$kdir/include/config/kernel.release")
work=$out/modules-$kver${ARCH:+-$ARCH}
mkdir -p "$work"
exec 9>"$work/.lock"
flock 9

# Kbuild does not track that an external module depends on the kernel's configuration, and a release
# may be that of several kernels: remove the objects if this is another kernel.
stamp=$(cd "$kdir" && pwd && cat include/config/auto.conf Module.symvers 2>/dev/null | cksum)
[ "$(cat "$work/.kernel" 2>/dev/null)" = "$stamp" ] || {
	find "$work" -mindepth 1 ! -name .lock -delete
	echo "$stamp" >"$work/.kernel"
}

# Do not pass our own make's variables to Kbuild: there, O= is a kernel's build folder.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL O
"$top/scripts/build/mirror" "$top" "$work" Kbuild kernel include
set -- -j"${JOBS:-$(nproc)}" -C "$kdir" M="$work" ${ARCH:+ARCH="$ARCH"} ${W:+W="$W"} \
	${C:+C="$C"} ${CF:+CF="$CF"} ${KCFLAGS:+KCFLAGS="$KCFLAGS"}
if [ "${V:-0}" = 1 ]; then
	make "$@" V=1 modules
else
	rc=0
	make -s --no-print-directory "$@" modules >/dev/null 2>"$work/log" || rc=$?
	# Kbuild's message about a kernel without vmlinux does not concern this build.
	sed '/^Skipping BTF generation/d' "$work/log" >&2
	[ $rc -eq 0 ] || exit $rc
fi
cmp -s "$work/kwarp.ko" "$out/kwarp.ko" || cp "$work/kwarp.ko" "$out/kwarp.ko"
