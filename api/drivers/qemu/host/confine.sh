#!/bin/bash
# Starts a program that a guest may take over, confined to its own files, processes and network. confine.ts passes the
# command by stdin and the rest by environment. The script runs twice: outside of the new namespaces, then inside.
# A program that confines itself is run "plain", as given by the arguments.
set -eu

# Closes all descriptors from this one on, which the service inherited or opened. bash reads the script from 255.
close_from() {
  local fd
  for fd in "/proc/$BASHPID/fd/"*; do
    fd=${fd##*/}
    if ((fd >= $1 && fd != 255)); then eval "exec $fd>&-"; fi
  done
}

# Keeps about the last half megabyte of its input in two files, even while the service is not running.
keep() {
  close_from 1
  umask 077
  cd "$LOGS"
  # shellcheck disable=SC2086
  KEEP=$1 exec setpriv $KEEPER split -b 256K --filter='mv -f "$KEEP" "$KEEP.1" 2>&-; exec cat >"$KEEP"' -
}

# Mounts a file or folder of the host into the program's root.
show() {
  [ -e "$1" ] || return 0
  mkdir -p "$ROOT${1%/*}"
  if [ -L "$1" ]; then cp -P "$1" "$ROOT$1"; return; fi
  if [ -d "$1" ]; then mkdir -p "$ROOT$1"; else : >"$ROOT$1"; fi
  mount --rbind "$1" "$ROOT$1"
  [ "$2" = ro ] || return 0
  # In a user namespace, a remount must keep the host's restrictions on the mount.
  local options
  options=$(findmnt -nro VFS-OPTIONS -T "$1")
  mount -o "remount,bind,ro,${options#r?}" "$ROOT$1"
}

# Installs a system call filter and execs the command: prctl(PR_SET_NO_NEW_PRIVS), then prctl(PR_SET_SECCOMP). setpriv
# lacks filters before util-linux 2.41, and every system with git or apt has perl.
# shellcheck disable=SC2016
FILTERED='my $filter = pack "H*", shift; my $program = pack "Sx6P", length($filter) / 8, $filter;
  syscall(157, 38, 1, 0, 0, 0) == 0 and syscall(157, 22, 2, $program) == 0 or die "no seccomp: $!\n"; exec @ARGV'

[ "$1" = inside ] || close_from 3
# At the size limit of a file, the write fails instead of killing the program.
trap '' XFSZ

if [ "$1" = plain ]; then exec "${@:2}"; fi

if [ "$1" = outside ]; then
  # The service closes stdin once this process is in its control group.
  read -r -d ''
  exec 3> >(keep serial.log) 2> >(keep qemu.log)
  # setsid forks and exits, so that no parent waits beside the program.
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
    # Only root may create the node; if the service runs as another user, the host's own node is open to all.
    mkdir -p "$ROOT/dev/net"
    mknod -m 666 "$ROOT/dev/net/tun" c 10 200 2>&- || show /dev/net/tun rw
  fi
  mount -o remount,bind,ro "$ROOT"
  # A chroot is used instead of pivot_root: it forbids new user namespaces, which would give back all capabilities.
  command=(chroot "$ROOT" "${command[@]}")
fi
[ -z "$FILTER" ] || command=(perl -e "$FILTERED" "$FILTER" "${command[@]}")
cd /
umask 077
exec env -i PATH="$PATH" "${command[@]}" </dev/null >/dev/null
