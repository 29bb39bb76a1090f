# Makes a bootable disk from a directory without mounting anything: sourced by the build scripts.
# Layout: MBR, GRUB's core in the gap behind it, one ext4 partition from sector 2048.

le32() { printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 & 255)) $((($1 >> 8) & 255)) $((($1 >> 16) & 255)) $((($1 >> 24) & 255)); }

# make_disk ROOT MEBIBYTES OUT.qcow2 LABEL [mke2fs options]: needs packages.sh with grub-common and grub-pc-bin unpacked.
make_disk() {
  local root=$1 mib=$2 out=$3 label=$4 grub=$tree/usr/lib/grub/i386-pc disk=$work/disk.raw
  truncate -s "$((mib + 1))M" "$disk"
  # Ownership 0:0 comes from running as root of a user namespace; times of inodes do not matter.
  mke2fs -q -F -t ext4 -b 4096 -m 1 -L "$label" -E "root_owner=0:0,lazy_itable_init=0,lazy_journal_init=0,offset=1048576,resize=268435456" \
    "${@:5}" -d "$root" "$disk" "${mib}M" > "$work/mke2fs.log" 2>&1 ||
    stop "The file system could not be made: $(tail -n 1 "$work/mke2fs.log")"
  run usr/bin/grub-mkimage -O i386-pc -d "$grub" -o "$work/core.img" -p '(hd0,msdos1)/boot/grub' \
    biosdisk part_msdos ext2 linux normal serial terminal
  dd if="$grub/boot.img" of="$disk" bs=440 count=1 conv=notrunc status=none
  dd if="$work/core.img" of="$disk" bs=512 seek=1 conv=notrunc status=none
  # Disk signature, then one bootable entry of type 83 from sector 2048, then the mark of an MBR.
  # shellcheck disable=SC2059
  printf "$(le32 $((RANDOM * 65536 + RANDOM)))\0\0\x80\xfe\xff\xff\x83\xfe\xff\xff$(le32 2048)$(le32 $((mib * 2048)))" |
    dd of="$disk" bs=1 seek=440 conv=notrunc status=none
  printf '\x55\xaa' | dd of="$disk" bs=1 seek=510 conv=notrunc status=none
  qemu-img convert -q -c -f raw -O qcow2 "$disk" "$out"
  rm -f "$disk"
}
