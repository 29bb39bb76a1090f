#!/bin/bash
# Builds a Debian cloud image (cloud-init, OpenSSH, systemd, guest agent) from this host's Debian mirror, for where
# the official one cannot be downloaded. It boots by GRUB from its own disk, so that kernel upgrades in it count.
#   build.sh OUT WORK debian-12|debian-13     OUT gets disk.qcow2 and manifest.json. WORK is scratch space (3 GB).
# Prints "progress 0..1 phrase" and, when it cannot go on, "error sentence".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mkdir -p "$2" && cd "$2" && pwd)
name=$3
case $name in
  debian-12) suite=bookworm more= ;;
  debian-13) suite=trixie more=linux-sysctl-defaults ;; # without which only root may ping
  *) echo "error No such image: $name"; exit 1 ;;
esac
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive
umask 022
. "$here/../packages.sh"
. "$here/../disk.sh"

if ! command -v mmdebstrap >/dev/null && [ "$(id -u)" = 0 ]; then
  say 0.01 installing mmdebstrap
  { apt-get -q update && apt-get -q -y --no-install-recommends install mmdebstrap; } > "$work/install.log" 2>&1 ||
    stop "mmdebstrap could not be installed: $(tail -n 1 "$work/install.log")"
fi
require apt-get=apt dpkg-deb=dpkg mke2fs=e2fsprogs qemu-img=qemu-utils unshare=util-linux mmdebstrap=mmdebstrap
# Mounts of our own, so that a build that is killed leaves none on the host, where the next clean-up would follow them
# into /dev. For an ordinary user also a user namespace: root in it, with the other ids from /etc/subuid.
if [ -z "${BERTH_UNSHARED:-}" ]; then
  ids=()
  [ "$(id -u)" = 0 ] || { require newuidmap=uidmap; ids=(--map-root-user --map-auto); }
  unshare "${ids[@]}" --mount true 2>/dev/null ||
    stop "This host does not let this user mount in a namespace (as an ordinary user: with ids from /etc/subuid). Build the image as root."
  BERTH_UNSHARED=1 exec unshare "${ids[@]}" --mount bash "$here/build.sh" "$out" "$work" "$name"
fi

say 0.03 fetching package lists
prepare_apt
# Whatever form the host's sources have, apt tells what it made of them.
mirror() { # PATTERN: the first Debian archive with a suite like this
  apt-get -c "$work/apt/apt.conf" indextargets --format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    awk -v p="$1" '$1 == "Debian" && $2 == "main" && $3 ~ p && !found { found = $4 } END { print found }'
}
archive=$(mirror "^$suite\$"); [ -n "$archive" ] || archive=$(mirror '^[a-z]+$')
security=$(mirror '^[a-z]+-security$')
[ -n "$archive" ] || stop "The package sources of this host lead to no Debian mirror, from which this image could be built."
keys=/usr/share/keyrings/debian-archive-keyring.gpg
by=; [ ! -e "$keys" ] || by="[signed-by=$keys] "
sources="deb $by$archive $suite main
deb $by$archive $suite-updates main"
[ -z "$security" ] || sources+="
deb $by$security $suite-security main"
# Proxies and the like, for the build only.
apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries)[^ ]* "[^"]+";$' > "$work/apt-options" || true

say 0.1 installing Debian
packages="linux-image-cloud-amd64 initramfs-tools zstd systemd-sysv systemd-resolved systemd-timesyncd dbus udev openssh-server
  cloud-init cloud-guest-utils fdisk e2fsprogs qemu-guest-agent sudo iproute2 netplan.io ca-certificates curl less nano
  iputils-ping procps kmod bash-completion $more"
root=$work/root
# Of each package it says three times that it works on it; how many there are, it says first.
progress() {
  awk -v log_file="$work/mmdebstrap.log" '
    { print > log_file }
    / newly installed/ { total += $3 }
    /^Get:|^Unpacking |^Setting up / { done++ }
    total && int(60 * done / total / 3) > told {
      told = int(60 * done / total / 3); if (told > 64) told = 64
      phrase = /^Get:/ ? "downloading packages" : /^Unpacking/ ? "unpacking packages" : "setting up packages"
      printf "progress %.2f %s\n", 0.1 + told / 100, phrase; fflush()
    }'
}
mmdebstrap --verbose --mode=root --variant=minbase --include="$(echo $packages | tr ' ' ,)" --aptopt="$work/apt-options" \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --skip=check/empty "$suite" "$root" - <<< "$sources" 2>&1 | progress ||
  stop "Debian could not be installed: $(grep -E '^E:' "$work/mmdebstrap.log" | tail -n 1)"

say 0.75 settling the system
cp -R "$here/guest/." "$root/"
printf '%s\n' "$sources" > "$root/etc/apt/sources.list"
rm -f "$root"/etc/apt/apt.conf.d/99mmdebstrap "$root"/etc/dpkg/dpkg.cfg.d/99mmdebstrap "$root"/etc/ssh/ssh_host_* \
  "$root/var/lib/dbus/machine-id" "$root"/var/cache/apt/*.bin
: > "$root/etc/machine-id"
echo localhost > "$root/etc/hostname"
ln -sf /run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
# Work that would compete with a customer's first login.
for unit in apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service dpkg-db-backup.timer; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
[ -e "$root/vmlinuz" ] && [ -e "$root/initrd.img" ] || stop "The kernel was installed without its links /vmlinuz and /initrd.img."

say 0.8 making the disk
unpack $(with_libraries grub-common) grub-pc-bin
make_disk "$root" $(($(du -sm "$root" | cut -f1) + 400)) "$out/disk.qcow2" rootfs
echo '{ "direct": null }' > "$out/manifest.json"
rm -rf "$work"
say 1 built
