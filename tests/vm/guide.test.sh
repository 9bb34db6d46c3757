#!/bin/bash
# guide: runs the commands of Documentation/guide.rst exactly as the page shows them, on a machine
# with systemd; except those about building and packages, which tests/run.d/guide runs.
# Machine: systemd
# Timeout: 1800
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/page.sh"

page=${KWARP_PAGE:-$(realpath "$(dirname "$0")/../../Documentation/guide.rst")}

# networks: sets up what the page assumes, such that it survives a restart: eth0 with its address.
# The other end of the wire belongs to the second machine, so eth0 has no carrier for a moment. The
# file system of the disk is mounted because NFS can export it, but not the overlay.
networks() {
	local to=/etc/systemd/network
	printf '[NetDev]\nName=eth0\nKind=veth\n[Peer]\nName=wire\n' >"$to"/eth0.netdev
	printf '[Match]\nName=eth0\n[Network]\nAddress=192.0.2.1/24\n' >"$to"/eth0.network
	printf 'ConfigureWithoutCarrier=yes\nIgnoreCarrierLoss=yes\n' >>"$to"/eth0.network
	printf '[Match]\nName=wire\n[Network]\nLinkLocalAddressing=no\n' >"$to"/wire.network
	echo '/dev/vda /srv ext4 defaults 0 0' >>/etc/fstab
	systemctl daemon-reload && mount /srv && systemctl enable --now systemd-networkd
}

has_address() { ip addr show dev eth0 | grep -q 'inet 192.0.2.1/'; }

grep -q /srv /etc/fstab || must networks
must wait_for has_address
must page_second wire
page_steps "$page" - Install 'Install without packages' Uninstall 'Uninstall without packages' \
	Valkey 'Building Valkey'
is 'as many commands as the page has' "$(page_commands "$page" | tr -cd '\036' | wc -c)" \
	"$(grep -cE '^    (\$|[a-z]*#) |^\.\. suite: ' "$page")"
done_testing
