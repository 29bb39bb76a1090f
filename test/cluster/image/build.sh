#!/bin/bash
# Builds a container image of 4 MB from the host's busybox-static and dropbear, with the guest scripts of micro.
#   build.sh OUT.tar.gz
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
guest=$here/../../../api/drivers/qemu/images/micro/guest
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
root=$work/rootfs
mkdir -p "$root"/{dev,etc,home,proc,root,run,sys,tmp,var/lib/berth,var/lib/seed,var/log,usr/bin,usr/lib,usr/lib64} "$work/templates"
for d in bin sbin usr/sbin; do ln -s /usr/bin "$root/$d"; done
for d in lib lib64; do ln -s "usr/$d" "$root/$d"; done
ln -s ../run "$root/var/run"; ln -s /var/lib/seed "$root/mnt"
chmod 1777 "$root/tmp"; chmod 700 "$root/root"
cp "$(command -v busybox)" "$root/usr/bin/busybox"
for applet in $(busybox --list); do [ "$applet" = busybox ] || ln -s busybox "$root/usr/bin/$applet"; done
cp "$(command -v dropbear)" "$(command -v dropbearkey)" "$root/usr/bin/"
ldd "$(command -v dropbear)" "$(command -v dropbearkey)" | grep -o '/[^ :]*' | grep '\.so' | sort -u |
  while read -r lib; do mkdir -p "$root$(dirname "$lib")"; cp -nL "$lib" "$root$lib"; done
cp -R "$guest/etc/." "$root/etc/"; ln -sf /etc/berth/chpasswd "$root/usr/bin/chpasswd"; mkdir -p "$root/etc/sudoers.d"
cp "$here/boot" "$root/etc/berth/boot"; cp "$here/inittab" "$root/etc/inittab"
chmod 755 "$root"/etc/berth/*; chmod 640 "$root/etc/shadow"
cat > "$work/metadata.yaml" <<YAML
architecture: $(uname -m)
creation_date: 1
properties: { os: berth-micro, description: the micro image of tests as a container }
templates:
  /var/lib/seed/meta-data: { when: [create, copy], template: meta-data }
  /var/lib/seed/vendor-data: { when: [create, copy], template: vendor-data }
  /var/lib/seed/user-data: { when: [create, copy], template: user-data }
  /var/lib/seed/network-config: { when: [create, copy], template: network-config }
YAML
printf 'instance-id: {{ container.name }}\n{{ config_get("user.meta-data", "") }}\n' > "$work/templates/meta-data"
for name in vendor-data user-data network-config; do
  printf '{{ config_get("cloud-init.%s", "") }}' "$name" > "$work/templates/$name"
done
tar -C "$work" --numeric-owner --owner=0 --group=0 --sort=name --mtime=@1 -czf "$1" metadata.yaml templates rootfs
