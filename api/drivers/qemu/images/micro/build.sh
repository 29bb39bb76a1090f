#!/bin/bash
# Builds the micro image: a bootable Linux of 20 MB from the packages of this host's distribution.
#   build.sh OUT WORK     OUT gets disk.qcow2, vmlinuz, initrd.img and manifest.json. WORK is scratch space.
# Needs no root, no loop device and no mount. Prints "progress 0..1 phrase" and, when it cannot go on, "error sentence".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mkdir -p "$2" && cd "$2" && pwd)
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
umask 022
. "$here/../packages.sh"
. "$here/../disk.sh"

require apt-get=apt dpkg-deb=dpkg mke2fs=e2fsprogs qemu-img=qemu-utils unshare=util-linux
# Files in the image must belong to root. A user namespace gives that to anybody.
if [ "$(id -u)" != 0 ]; then
  unshare -r true 2>/dev/null || stop "This host does not let ordinary users make user namespaces (unshare -r). Build the image as root."
  exec unshare -r bash "$here/build.sh" "$out" "$work"
fi

say 0.02 fetching package lists
prepare_apt
kernel=
for p in linux-image-cloud-amd64 linux-image-virtual linux-image-amd64; do
  if has_package "$p"; then kernel=$(depends "$p" | grep -m 1 '^linux-image-'); break; fi
done
[ -n "$kernel" ] || stop "The package sources of this host offer no kernel (linux-image-cloud-amd64 or linux-image-virtual)."
# Ubuntu has the modules in a package of their own.
kernel_modules=$(depends "$kernel" | grep -m 1 '^linux-modules-' || true)

say 0.15 downloading packages
# shellcheck disable=SC2046
unpack $kernel $kernel_modules $(with_libraries busybox-static dropbear-bin openssh-sftp-server sudo libpam-modules \
  e2fsprogs qemu-guest-agent grub-common | sort -u) grub-pc-bin util-linux
release=$(ls "$tree/usr/lib/modules")
busybox=$tree/usr/bin/busybox

say 0.6 assembling the root file system
root=$work/root
mkdir -p "$root"/{boot/grub,dev,etc,home,mnt,proc,root,run,sys,tmp,var/lib/berth,var/log,usr/bin,usr/lib/x86_64-linux-gnu,usr/lib64,usr/lib/modules}
for d in bin sbin usr/sbin; do ln -s /usr/bin "$root/$d"; done
for d in lib lib64; do ln -s "usr/$d" "$root/$d"; done
ln -s ../run "$root/var/run"
chmod 1777 "$root/tmp"; chmod 700 "$root/root"
cp "$busybox" "$root/usr/bin/busybox"
for applet in $("$busybox" --list); do
  case $applet in busybox|dpkg*|rpm*) ;; *) ln -s busybox "$root/usr/bin/$applet" ;; esac
done
# take PATH [PLACE]: a program or library of the packages and the libraries it loads
take() {
  local place=$root/${2:-usr/bin} lib
  mkdir -p "$place"; cp -L "$tree/$1" "$place/"
  for lib in $(needs "$tree/$1"); do cp -nL "$lib" "$root/usr/lib/x86_64-linux-gnu/"; done
}
cp -L "$loader" "$root/usr/lib64/"
take usr/sbin/dropbear; take usr/bin/dropbearkey; take usr/lib/openssh/sftp-server usr/lib/openssh
take usr/sbin/resize2fs; take usr/sbin/qemu-ga; take usr/bin/resizepart
take usr/bin/sudo; take usr/lib/x86_64-linux-gnu/security/pam_permit.so usr/lib/x86_64-linux-gnu/security
sudo=$(cd "$tree" && find usr/lib usr/libexec -name sudoers.so -print -quit)
take "$sudo" "$(dirname "$sudo")"
cp -L "$tree/$(dirname "$sudo")"/libsudo_util.so.0 "$root/$(dirname "$sudo")/"
chmod 4755 "$root/usr/bin/sudo"
cp -R "$here/guest/etc/." "$root/etc/"
ln -sf /etc/berth/chpasswd "$root/usr/bin/chpasswd"; ln -sf /etc/berth/growpart "$root/usr/bin/growpart"
mkdir -p "$root/etc/sudoers.d" # Git keeps no empty folder
chmod 755 "$root"/etc/berth/* "$root/etc/acpi/PWRF/00000080"; chmod 640 "$root/etc/shadow"; chmod 440 "$root/etc/sudoers"
printf 'NAME="Berth micro"\nID=berth-micro\nPRETTY_NAME="Berth micro (%s)"\n' "$kernel" > "$root/etc/os-release"

say 0.7 assembling the initial ram disk
initrd=$work/initrd
mkdir -p "$initrd"/{bin,dev,modules,proc,sys,root}
cp "$busybox" "$initrd/bin/busybox"
cp "$here/guest/initrd-init" "$initrd/init"; cp "$here/guest/etc/berth/growpart" "$initrd/bin/growpart"; chmod 755 "$initrd/init"
module_bytes() { case $1 in *.zst) zstd -qdc "$1" ;; *.xz) "$busybox" xz -dc "$1" ;; *) cat "$1" ;; esac; }
# module DIRECTORY NAME: copies a module and, before it, what it needs; keeps the load order in DIRECTORY/order
module() {
  local name=${2//-/_} file dep
  [ ! -e "$initrd/modules/$name.ko" ] && [ ! -e "$1/$name.ko" ] || return 0
  file=$(find "$tree/usr/lib/modules/$release/kernel" -name '*.ko*' |
    awk -F/ -v n="$name" '{ b = $NF; sub(/\.ko.*/, "", b); gsub(/-/, "_", b); if (b == n && !found) found = $0 } END { print found }')
  [ -n "$file" ] || return 0 # built into the kernel
  for dep in $(module_bytes "$file" | tr '\0' '\n' | sed -n 's/^depends=//p' | tr , ' '); do module "$1" "$dep"; done
  module_bytes "$file" > "$1/$name.ko"
  echo "$name" >> "$1/order"
}
# Only what the way to the ssh login needs is loaded early; the rest waits in the root file system.
for m in virtio_pci virtio_blk virtio_net vfat nls_cp437 nls_ascii; do module "$initrd/modules" "$m"; done
mkdir -p "$root/usr/lib/modules/late"
for m in virtio_console virtio_balloon virtio-rng button evdev; do module "$root/usr/lib/modules/late" "$m"; done
mkdir -p "$root/usr/lib/modules/volumes"
for m in virtio_scsi sd_mod; do module "$root/usr/lib/modules/volumes" "$m"; done
(cd "$initrd" && find . | sort | "$busybox" cpio -o -H newc 2>/dev/null | gzip -9n) > "$out/initrd.img"
cp "$tree/boot/vmlinuz-$release" "$out/vmlinuz"

say 0.75 making the disk
cp "$out/vmlinuz" "$out/initrd.img" "$root/boot/"
append="root=/dev/vda1 console=ttyS0,115200 quiet panic=5 no_timer_check cryptomgr.notests"
cat > "$root/boot/grub/grub.cfg" <<CONF
set timeout=0
serial --unit=0 --speed=115200
terminal_output serial
linux /boot/vmlinuz $append
initrd /boot/initrd.img
boot
CONF
make_disk "$root" 64 "$out/disk.qcow2" micro -N 8192 -J size=4
rm -rf "$work"
cat > "$out/manifest.json" <<JSON
{ "direct": { "kernel": "vmlinuz", "initrd": "initrd.img", "append": "$append" }, "contents": "$kernel" }
JSON
say 1 built
