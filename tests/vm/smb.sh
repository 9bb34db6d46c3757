# shellcheck shell=bash
# Functions for the suites of SMB Direct; source this file after lib.sh: the kernel's server, ksmbd,
# on host B, and its client on host A. The tools of ksmbd reach it in the initial namespace only.

# smb_up DIR SIZE: serves a new file system in DIR as "share"
smb_up() {
	local conf=$WORK/ksmbd.conf users=$WORK/users
	mkdir -p "$1" && mount -t tmpfs -o size="$2" share "$1" || return 1
	cat >"$conf" <<-CONF
		[global]
		    netbios name = KWARP
		    server signing = disabled
		    smb3 encryption = disabled
		    map to guest = never
		[share]
		    path = $1
		    read only = no
		    oplocks = no
		    force user = root
		    force group = root
	CONF
	: >"$users"
	ksmbd.adduser -a -p secret -C "$conf" -P "$users" tester || return 1
	server mountd on_b ksmbd.mountd -n -C "$conf" -P "$users"
	wait_for listening hostB 5445
}

smb_down() {
	ksmbd.control -s
	stop mountd
	wait_for smb_silent && umount "$1"
}

smb_silent() { ! listening hostB 5445; }

# smb_mount DIR [OPTIONS]: mounts the share by RDMA
smb_mount() {
	local options=rdma,vers=3.1.1,username=tester,password=secret,soft,cache=none
	options+=,echo_interval=$(patience 5)
	mkdir -p "$1" || return 1
	mount -t cifs "//$IP_B/share" "$1" -o "$options${2:+,$2}"
}
