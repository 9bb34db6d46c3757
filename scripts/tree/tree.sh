#!/bin/bash
# tree.sh: make the Debian 13 tree in build/tree, unless one with the same package list is there.
# It is the root file system of the test VM and the place where module, provider and tests are
# built. It is kept for other checkouts, as long as the archive has not changed.
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/build/kept.sh"
need_root
lock tree

SUITE=trixie
stamp=$({ list "$TOP/scripts/tree/packages.tree"; sha256sum <"$0"; } | sha256sum | cut -d' ' -f1)
[ "$(cat "$TREE/stamp" 2>/dev/null)" != "$stamp" ] || {
	tell_proxies "$TREE"
	exit 0
}

archive=$(debian_archive)
[ -n "$archive" ] || fail 'no Debian archive in the apt configuration of this machine'
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
new=$TREE.new

# newest_headers: reads package names, prints the newest 7.2 kernel's headers, or the newest of all.
newest_headers() {
	sort -V | awk '/^linux-headers-[0-9.]+\+deb13-amd64$/ { all = $0; if (/-7\.2\./) want = $0 }
		END { print want ? want : all }'
}

source_line() {
	echo "$1 [signed-by=$keyring] $archive $2 main"
}

# releases: prints what the archive has in these suites: the lists and their checksums
releases() {
	local suite
	for suite in $SUITE $SUITE-backports; do
		/usr/lib/apt/apt-helper download-file "${archive%/}/dists/$suite/InRelease" \
			"$BUILD/InRelease" >/dev/null 2>&1 || return 1
		sed '/^SHA256:/,$!d' "$BUILD/InRelease"
		rm -f "$BUILD/InRelease"
	done
}

kept=
if releases=$(releases); then
	kept=tree-$(checksum <<<"$stamp $archive $releases")
	rm -rf "$new"
	if kept "$kept" "$new"; then
		cp /etc/resolv.conf "$new/etc/resolv.conf"
		tell_proxies "$new"
		rm -rf "$TREE"
		mv "$new" "$TREE"
		step "tree ready: kernel $(tree_kver), as it was kept"
		exit 0
	fi
fi

count=$(list "$TOP/scripts/tree/packages.tree" | wc -l)
step "Debian 13 tree ($count packages and what they need; about 1 to 2 minutes)"
rm -rf "$new"
valid=$(apt-config dump --format '%v' Acquire::Check-Valid-Until | grep . || echo true)
# mmdebstrap's apt does not read the configuration of this machine's.
mapfile -t proxies < <(apt_proxies)
# INITRD=No: the VM has its own initramfs, the tree's would take longest of all.
INITRD=No SOURCE_DATE_EPOCH=0 quietly "$BUILD/log/tree.log" mmdebstrap --variant=apt --mode=root \
	--aptopt="Acquire::Check-Valid-Until \"$valid\"" \
	"${proxies[@]/#/--aptopt=}" \
	--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
	--dpkgopt='force-unsafe-io' --dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-include=/usr/share/doc/rdma-core*' \
	--skip=cleanup/apt/lists \
	--include="$(list "$TOP/scripts/tree/packages.tree" | paste -sd,)" \
	"$SUITE" "$new" \
	"$(source_line deb $SUITE)" "$(source_line deb $SUITE-backports)" \
	"$(source_line deb-src $SUITE)"

TREE=$new
mkdir -p "$TREE/src"
cp /etc/resolv.conf "$TREE/etc/resolv.conf"
# mmdebstrap has put the proxies, which may change, into the file of its options.
sed -i '/^Acquire::https\?::Proxy/d' "$TREE/etc/apt/apt.conf.d/99mmdebstrap"
tell_proxies "$TREE"

step 'headers of the newest kernel for compile tests'
headers=$(in_tree -w / apt-cache pkgnames linux-headers-7 | newest_headers)
[ -n "$headers" ] || fail "no linux-headers-7* in $SUITE-backports"
quietly "$BUILD/log/tree-next.log" \
	in_tree -w / apt-get install -y -q --no-install-recommends "$headers"
echo "${headers#linux-headers-}" >"$TREE/kver-next"
basename "$(ls -d "$TREE"/lib/modules/6.12*)" >"$TREE/kver"
rm -f "$TREE"/var/cache/apt/archives/*.deb

echo "$stamp" >"$TREE/stamp"
[ -z "$kept" ] || keep "$kept" -C "$TREE" .
TREE=${new%.new}
rm -rf "$TREE"
mv "$new" "$TREE"
size=$(du -sh "$TREE" | cut -f1)
step "tree ready: kernel $(tree_kver), compile test for $(tree_kver_next), $size"
