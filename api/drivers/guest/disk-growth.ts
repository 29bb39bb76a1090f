const SECTOR = 512

/**
 * Returns the script that lets a guest's root partition and file system fill its grown disk. The kernel sees the new
 * size a moment after the script begins. It does nothing on layouts that it does not know, such as LVM.
 */
export function growthScript(diskBytes: number): string {
  return `export PATH=/usr/sbin:/usr/bin:/sbin:/bin
while read -r id parent device root place rest; do [ "$place" != / ] || p=$device; done < /proc/self/mountinfo
p=$(readlink -f /sys/dev/block/$p)
read -r number < $p/partition || exit 1
disk=\${p%/*}
for i in 1 2 3 4 5 6 7 8 9 10; do
  read -r sectors < $disk/size
  [ $sectors -lt ${diskBytes / SECTOR} ] || break
  sleep 1
done
growpart /dev/\${disk##*/} $number
while read -r device place type rest; do [ "$place" != / ] || fs=$type; done < /proc/mounts
case $fs in
  ext*) resize2fs /dev/\${p##*/} ;;
  xfs) xfs_growfs / ;;
  btrfs) btrfs filesystem resize max / ;;
esac`
}
