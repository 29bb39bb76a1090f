# Takes packages from wherever this host takes its own, without touching the host: sourced by the build scripts.
# Expects: $work, a directory to work in. Gives: $tree, where `unpack` puts the files of packages.
tree=$work/tree

say() { echo "progress $1 ${*:2}"; }
stop() { trap - ERR; echo "error $*"; exit 1; }
# Started by the service, a build holds its stdin open and ends with it: no orphan works on after a crash.
if [ -n "${BERTH_END_WITH_STDIN:-}" ]; then
  unset BERTH_END_WITH_STDIN # asked once: after a re-execution in a user namespace the same process group goes on
  exec 9<&0 < /dev/null
  { cat <&9; kill -KILL 0; } > /dev/null 2>&1 &
  exec 9<&-
fi
set -E; trap 'stop "The build stopped unexpectedly at line $LINENO: $BASH_COMMAND"' ERR

# require PROGRAM=PACKAGE...
require() {
  local pair missing=()
  for pair; do command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}"); done
  [ ${#missing[@]} = 0 ] || stop "Building this image needs programs that are not installed. Run: apt-get install ${missing[*]}"
}

# A private state of apt: works for ordinary users and where the host's package lists are empty.
# The host's sources, keys, proxies and credentials stay in force; its hooks do not run.
prepare_apt() {
  [ "$(dpkg --print-architecture)" = amd64 ] || stop "This image is for amd64 and can only be built on an amd64 host."
  mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$tree/usr"/{bin,sbin,lib,lib64}
  local d; for d in bin sbin lib lib64; do ln -sfn "usr/$d" "$tree/$d"; done
  : > "$work/apt/status"
  cat > "$work/apt/apt.conf" <<CONF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::State "$work/apt";
Dir::State::status "$work/apt/status";
Dir::State::lists "$work/apt/lists";
Dir::Cache "$work/apt";
Dir::Cache::pkgcache "$work/apt/pkgcache.bin";
Dir::Cache::srcpkgcache "$work/apt/srcpkgcache.bin";
Dir::Cache::archives "$work/apt/archives";
Dir::Log "$work/apt";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
  apt_get update || stop "The package lists could not be fetched: $(tail -n 1 "$work/apt/log")"
}

apt_get() { apt-get -q -y -c "$work/apt/apt.conf" "$@" >> "$work/apt/log" 2>&1; }
has_package() { apt-cache -c "$work/apt/apt.conf" show "$1" >/dev/null 2>&1; }
# The real packages that one depends on, first alternative of each.
depends() {
  apt-cache -c "$work/apt/apt.conf" depends --important "$1" 2>/dev/null |
    awk '$1 ~ /Depends:$/ && $2 !~ /^</ { if (!after) print $2; after = ($1 ~ /^\|/) }'
}

# with_libraries PACKAGE...: these and, followed to the end, the libraries that they need, whatever this release calls them.
with_libraries() {
  local queue=("$@") seen=" $* " p d
  while [ ${#queue[@]} -gt 0 ]; do
    p=${queue[0]}; queue=("${queue[@]:1}"); echo "$p"
    for d in $(depends "$p"); do
      case $d in lib*|zlib1g) ;; *) continue ;; esac
      case $seen in *" $d "*) ;; *) seen+="$d "; queue+=("$d") ;; esac
    done
  done
}

# unpack PACKAGE...: downloads them (verified by apt) and unpacks them into $tree.
unpack() {
  (cd "$work/apt/archives" && apt_get download "$@") ||
    stop "Packages could not be downloaded: $(grep '^E:' "$work/apt/log" | tail -n 1)"
  local deb
  for deb in "$work"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$tree" --no-same-owner --keep-directory-symlink -f -
    rm -f "$deb"
  done
}

# Runs a program of $tree with the libraries of $tree.
loader=$tree/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
libraries=$tree/usr/lib/x86_64-linux-gnu:$tree/usr/libexec/sudo:$tree/usr/lib/sudo
run() { "$loader" --library-path "$libraries" "$tree/$1" "${@:2}"; }
# The shared libraries that a program of $tree loads, as paths.
needs() { "$loader" --library-path "$libraries" --list "$1" | awk '$2 == "=>" { print $3 }'; }
