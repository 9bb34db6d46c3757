#!/bin/bash
# disk.sh FILE: makes the disk of a guest with systemd and udev, on which apt has installed kwarp's
# packages (scripts/build/debs.sh); prints its path. The disk has the differences from the tree, as
# the upper layer of an overlay. The service kwarp-test runs the command of vm.sh after all other
# services have started.
. "$(dirname "$0")/../lib.sh"
need_root
lock disk
disk=$1
copy=$BUILD/copies/machine

# packages: prints the packages for apt: all except kwarp-vm, which is not used in a guest
packages() {
	(cd "$BUILD/deb" && printf '/src/build/deb/%s ' \
		./kwarp{_,-dkms_,-ibverbs-provider_,ctl_}*.deb ./libkwarp-dev_*.deb)
}

if [ ! -e "$copy/done" ] || [ "$BUILD/deb/lintian" -nt "$copy/done" ]; then
	step 'packages are installed for a guest'
	copy machine
	# The other packages are for vm-guide. Run DKMS for the guest's kernel, because apt's run of
	# DKMS builds for the tree's newest kernel.
	# shellcheck disable=SC2046 # names of packages
	quietly "$BUILD/log/disk-install.log" in_copy machine -w / sh -ec '
		apt-get install -y -q --no-install-recommends "$@"
		/etc/kernel/postinst.d/dkms "$0"' "$(tree_kver)" $(packages) \
		e2fsprogs nftables openmpi-bin python3-mpi4py systemd-container
	touch "$copy/done"
fi

step 'disk of a guest'
up=$copy/changes
units=$up/etc/systemd/system
mkdir -p "$units/kwarp-test.target.wants"
cat >"$units/kwarp-test.target" <<'END'
[Unit]
Requires=multi-user.target
After=multi-user.target
END
cat >"$units/kwarp-test.service" <<'END'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
WorkingDirectory=/src
ExecStart=/src/scripts/guest/machine-run
StandardOutput=file:/dev/ttyS1
StandardError=inherit
TimeoutStartSec=infinity
END
ln -sf ../kwarp-test.service "$units/kwarp-test.target.wants/"
ln -sf kwarp-test.target "$units/default.target"
# Mask units that tests do not need; the guest makes a machine-id at its first boot.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
	fstrim.timer man-db.timer smartd.service ksmbd.service iscsid.service \
	serial-getty@ttyS0.service serial-getty@ttyS1.service; do
	ln -sf /dev/null "$units/$unit"
done
: >"$up/etc/machine-id"
: >"$up/etc/fstab"
image=$(mktemp -d)
trap 'rm -rf "$image"' EXIT
mkdir "$image/work"
cp -a "$up" "$image/up"
rm -f "$disk"
truncate -s 2G "$disk"
quietly "$BUILD/log/disk.log" mke2fs -q -t ext4 -d "$image" "$disk"
echo "$disk"
