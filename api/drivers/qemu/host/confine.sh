#!/bin/bash
# Starts a program that a guest may take over, where it sees and reaches nothing but its own. confine.ts gives the
# command by stdin and the rest by environment; this script runs twice: outside of the new namespaces, then inside.
# What needs no walls, as it builds its own, is run "plain", by its arguments.
set -eu

# Closes what the service has inherited, or opened, from this descriptor on. 255 is this script, which ends by itself.
close_from() {
  local fd
  for fd in "/proc/$BASHPID/fd/"*; do
    fd=${fd##*/}
    if ((fd >= $1 && fd != 255)); then eval "exec $fd>&-"; fi
  done
}

# Keeps the last half megabyte or so of what it reads, in two files, whether the service runs or not.
keep() {
  close_from 1
  umask 077
  cd "$LOGS"
  # shellcheck disable=SC2086
  KEEP=$1 exec setpriv $KEEPER split -b 256K --filter='mv -f "$KEEP" "$KEEP.1" 2>&-; exec cat >"$KEEP"' -
}

# Puts a file or folder of the host where the program will see it.
show() {
  [ -e "$1" ] || return 0
  mkdir -p "$ROOT${1%/*}"
  if [ -L "$1" ]; then cp -P "$1" "$ROOT$1"; return; fi
  if [ -d "$1" ]; then mkdir -p "$ROOT$1"; else : >"$ROOT$1"; fi
  mount --rbind "$1" "$ROOT$1"
  [ "$2" = ro ] || return 0
  # In a user's own namespace the mount must keep what the host has forbidden for it.
  local options
  options=$(findmnt -nro VFS-OPTIONS -T "$1")
  mount -o "remount,bind,ro,${options#r?}" "$ROOT$1"
}

# Hands the kernel a filter of system calls, and becomes what follows: prctl(PR_SET_NO_NEW_PRIVS), then
# prctl(PR_SET_SECCOMP). setpriv can't before util-linux 2.41, and perl is there wherever git or apt is.
# shellcheck disable=SC2016
FILTERED='my $filter = pack "H*", shift; my $program = pack "Sx6P", length($filter) / 8, $filter;
  syscall(157, 38, 1, 0, 0, 0) == 0 and syscall(157, 22, 2, $program) == 0 or die "no seccomp: $!\n"; exec @ARGV'

[ "$1" = inside ] || close_from 3
# Where a file reaches its limit the write fails; the program goes on.
trap '' XFSZ

if [ "$1" = plain ]; then exec "${@:2}"; fi

if [ "$1" = outside ]; then
  # By now this process has its control group.
  read -r -d ''
  exec 3> >(keep serial.log) 2> >(keep qemu.log)
  # setsid lets go of its child, so that nothing waits beside the program.
  # shellcheck disable=SC2086
  exec $ENTRANCE unshare $NAMESPACES -- setsid --fork "$BASH" "$0" inside
fi

mapfile -d '' -t command
# shellcheck disable=SC2086
command=(setpriv $PRIVILEGES prlimit $LIMITS -- "${command[@]}")
if [ -n "$ROOT" ]; then
  umask 022
  mount -t tmpfs -o mode=755,size=1m,nr_inodes=4k walls "$ROOT"
  for path in /usr /bin /lib /lib64 /etc/ld.so.cache; do show "$path" ro; done
  while IFS= read -r path; do show "$path" ro; done <<<"$SHOWN"
  while IFS= read -r path; do show "$path" rw; done <<<"$SHARED"
  for path in /dev/null /dev/urandom /dev/kvm; do show "$path" rw; done
  if [ -n "$ENTRANCE" ]; then
    # Only root may make a node; where another user runs this, the host's own is open to all.
    mkdir -p "$ROOT/dev/net"
    mknod -m 666 "$ROOT/dev/net/tun" c 10 200 2>&- || show /dev/net/tun rw
  fi
  mount -o remount,bind,ro "$ROOT"
  # Not pivot_root: who is in a chroot can't make a user namespace, where it would have all capabilities again.
  command=(chroot "$ROOT" "${command[@]}")
fi
[ -z "$FILTER" ] || command=(perl -e "$FILTERED" "$FILTER" "${command[@]}")
cd /
umask 077
exec env -i PATH="$PATH" "${command[@]}" </dev/null >/dev/null
