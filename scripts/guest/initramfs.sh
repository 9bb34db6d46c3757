#!/bin/bash
# initramfs.sh KVER [ROOT]: makes the VM's initramfs for a kernel of the tree, or of the ROOT of
# another machine, and prints its path. A static busybox mounts the root (9p, read-only), the files
# that "make install" put into the stage, and modules for another kernel under a tmpfs overlay, this
# checkout at /src and the results directory at /results. With KWARP_DISK=1 on the kernel's command
# line the overlay is the VM's disk, without the stage, and systemd is started
# (scripts/guest/disk.sh). With KWARP_ARCH=ARCH stage and test programs are those of
# scripts/build/stage-foreign.sh.
. "$(dirname "$0")/../lib.sh"
lock initramfs

kver=$1
root=${2:-$TREE}
busybox=${2:+$2/usr/bin/busybox}
out=$BUILD/initramfs-$kver.cpio.gz
[ "$out" -nt "$0" ] && [ "$out" -nt "$TREE/stamp" ] && { echo "$out"; exit 0; }

step 'initramfs'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{bin,modules,proc,sys,dev,ro,src,rw,new}
cp "${busybox:-$(command -v busybox)}" "$work/bin/busybox"

disk='crc32c_generic crc16 mbcache jbd2 ext4 virtio_blk'
# Modules that the boot itself needs, in load order; those built into the kernel are skipped.
for module in netfs 9pnet 9pnet_virtio 9p overlay $disk; do
	file=$(find "$root/lib/modules/$kver/kernel" -name "$module.ko*" | head -n 1)
	case $file in
	'') ;;
	*.xz) xz -dc "$file" >"$work/modules/$module.ko" ;;
	*.zst) zstd -qdc "$file" >"$work/modules/$module.ko" ;;
	*) cp "$file" "$work/modules/$module.ko" ;;
	esac
done

cat >"$work/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for m in netfs 9pnet 9pnet_virtio 9p overlay; do
	[ -f /modules/$m.ko ] && insmod /modules/$m.ko
done
share() { mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,"$3" "$1" "$2"; }
share root /ro ro,cache=loose
share src /src ro,cache=loose
layers=/ro
if [ -n "$KWARP_DISK" ]; then
	for m in DISK_MODULES; do
		[ -f /modules/$m.ko ] && insmod /modules/$m.ko
	done
	mount -t ext4 /dev/vda /rw
	init=/lib/systemd/systemd
else
	mount -t tmpfs -o size=75% rw /rw
	mkdir -p /rw/up /rw/work
	stages="/src/build/stage /src/build/stage-$(uname -r)"
	[ -z "$KWARP_ARCH" ] || {
		stages=/src/build/cross/$KWARP_ARCH/stage
		for programs in examples peer verbs; do
			mount -o bind /src/build/cross/$KWARP_ARCH/$programs /src/build/$programs
		done
	}
	for stage in $stages; do
		[ ! -d "$stage" ] || layers=$stage:$layers
	done
	init=/src/scripts/guest/guest-init
fi
mount -t overlay -o lowerdir=$layers,upperdir=/rw/up,workdir=/rw/work overlay /new
mkdir -p /new/src /new/results
mount -o move /src /new/src
share results /new/results rw
umount /proc /sys
exec switch_root /new $init
INIT
sed -i "s/DISK_MODULES/$disk/" "$work/init"
chmod +x "$work/init"
(cd "$work" && find . | cpio -o -H newc --quiet) | gzip -1 >"$out.new"
mv "$out.new" "$out"
echo "$out"
