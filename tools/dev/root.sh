# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The build root: a Debian forky tree in the cache folder, named after the hash of packages.txt. It is made under a temporary
# name and renamed when it is whole, so that a root with that name can be used without a lock. Mounts are made in private
# mount namespaces only: when the last process of a run is gone, nothing of it is left but the temporary folder.

ROOT_NEEDS_MIB=${WGK_DEV_NEED_MIB:-2500}

packages_file() { printf '%s\n' "${WGK_DEV_PACKAGES:-$REPO/packages.txt}"; }
list_packages() { "$REPO/tools/dev/list-packages" "$(packages_file)" "$@"; }

root_path() {
  local sum
  sum=$(sha256sum <"$(packages_file)") || die "cannot read $(packages_file)"
  printf '%s/root-%s\n' "$(cache_dir)" "${sum:0:12}"
}

# ensure_root GROUP...: ROOT is set to a whole root that has these groups beside base.
ensure_root() {
  local group
  ROOT=$(root_path)
  [ -e "$ROOT/.wgk/base" ] || with_root_lock make_root
  for group in "$@"; do
    [ -e "$ROOT/.wgk/$group" ] || with_root_lock add_group "$group"
  done
}

# One set-up at a time for each root. The lock is inherited by the set-up's processes: it is free only when all are gone.
with_root_lock() {
  local lock
  mkdir -p "$(cache_dir)" || die "cannot make the cache folder $(cache_dir)" \
    "set WGK_DEV_CACHE or XDG_CACHE_HOME to a folder that can be written"
  exec {lock}>"$ROOT.lock" || die "cannot write in the cache folder $(cache_dir)"
  if ! flock -n "$lock"; then
    say "another ./dev is setting up $ROOT; waiting for it"
    flock "$lock"
  fi
  "$@"
  exec {lock}>&-
}

make_root() {
  [ ! -e "$ROOT/.wgk/base" ] || return 0 # somebody else made it while this run waited
  need_namespaces
  clean_stale
  need_space
  need_debootstrap
  local tmp=$ROOT.tmp.$$ log=$ROOT.log packages
  packages=$(list_packages base) || exit 1
  : >"$log"
  SETUP_TMP=$tmp
  say "setting up the build root once, in $ROOT"
  debootstrap_into "$tmp" "$log" || setup_failed "$log"
  # shellcheck disable=SC2086 # one word is one package
  step "$log" "installing $(wc -w <<<"$packages") packages" \
    isolated "$REPO/tools/dev/install-packages" "$tmp" $packages || setup_failed "$log"
  { mkdir -p "$tmp/.wgk" && touch "$tmp/.wgk/base" && rm -rf "$ROOT" && mv -T "$tmp" "$ROOT"; } || setup_failed "$log"
  SETUP_TMP=
}

add_group() {
  local group=$1 log=$ROOT.log packages
  [ ! -e "$ROOT/.wgk/$group" ] || return 0
  need_namespaces
  packages=$(list_packages "$group") || exit 1
  : >"$log"
  # shellcheck disable=SC2086
  step "$log" "installing the packages of group '$group'" \
    isolated "$REPO/tools/dev/install-packages" "$ROOT" $packages || group_failed "$group" "$log"
  touch "$ROOT/.wgk/$group" || group_failed "$group" "$log"
}

# debootstrap_into DIR LOG: from the host's own mirror if it has one for forky, else from debootstrap's default.
debootstrap_into() {
  local dir=$1 log=$2 mirror script=/usr/share/debootstrap/scripts
  # An older debootstrap does not know the name forky; its script for sid is the same.
  if [ -e "$script/forky" ]; then script=$script/forky; else script=$script/sid; fi
  mirror=$(host_mirror)
  if [ -n "$mirror" ]; then
    if step "$log" "unpacking Debian forky" isolated debootstrap --variant=minbase --force-check-gpg forky \
      "$dir" "$mirror" "$script"; then return 0; fi
    ! disk_is_full "$log" || return 1
    say "trying debootstrap's default mirror"
    rm -rf --one-file-system "$dir"
  fi
  step "$log" "unpacking Debian forky" isolated debootstrap --variant=minbase --force-check-gpg forky "$dir" "" "$script"
}

# The address of the host's Debian archive, when the host is Debian.
host_mirror() {
  local ID="" VERSION_CODENAME=""
  # shellcheck disable=SC1091
  [ ! -r /etc/os-release ] || . /etc/os-release
  [ "$ID" = debian ] && have apt-get || return 0
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk -v suite="$VERSION_CODENAME" '$1 == suite && $2 == "main" { print $3; exit }'
}

# isolated CMD...: replaces this process. CMD and all its children live in their own mount and (if possible) process
# namespace and die with the ./dev that started them, even if that one is killed.
isolated() {
  local die_with_parent=()
  if have setpriv; then die_with_parent=(setpriv --pdeathsig KILL); fi
  if unshare --mount --propagation private --pid --fork --kill-child --mount-proc true 2>/dev/null; then
    exec "${die_with_parent[@]}" unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$@"
  fi
  exec "${die_with_parent[@]}" unshare --mount --propagation private "$@"
}

need_namespaces() {
  local tool why
  for tool in unshare mount chroot flock; do
    have "$tool" || die "the program '$tool' is missing" "install util-linux and coreutils"
  done
  why=$(unshare --mount --propagation private true 2>&1) || die \
    "this machine does not let root make a private mount namespace ($why), so the build root cannot be entered" \
    "run where that is allowed, use Docker or Podman as an ordinary user, or work on Debian forky with the packages of packages.txt"
}

need_debootstrap() {
  ! have debootstrap || return 0
  have apt-get || die "debootstrap is missing" "install it with this system's package manager, then run again"
  local log=$ROOT.log
  : >"$log"
  step "$log" "installing debootstrap" env DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get install -y --no-install-recommends debootstrap || { apt-get update && apt-get install -y --no-install-recommends debootstrap; }' ||
    die "debootstrap could not be installed; see $log"
}

need_space() {
  local free
  free=$(df -Pm "$(cache_dir)" | awk 'NR == 2 { print $4 }')
  [ "$free" -ge "$ROOT_NEEDS_MIB" ] || die \
    "the build root needs $ROOT_NEEDS_MIB MiB, but $(cache_dir) has only $free MiB free" \
    "free some space, or set WGK_DEV_CACHE to a folder on a larger disk"
}

# Only called under the lock, so whatever has a temporary name is a leftover of a run that died.
clean_stale() {
  local stale
  for stale in "$ROOT".tmp.*; do
    [ ! -e "$stale" ] || rm -rf --one-file-system "$stale"
  done
}

disk_is_full() {
  local free
  free=$(df -Pm "$(cache_dir)" | awk 'NR == 2 { print $4 }')
  [ "$free" -lt 32 ] || tail -n 100 "$1" | grep -qi -e 'no space left on device' -e 'enough free space'
}

setup_failed() {
  local log=$1 full=0
  disk_is_full "$log" && full=1
  remove_setup_tmp
  [ "$full" = 0 ] || die "the disk that holds $(cache_dir) is full; the unfinished build root was removed" \
    "free $ROOT_NEEDS_MIB MiB, or set WGK_DEV_CACHE to a folder on a larger disk"
  die "the build root could not be set up; see $log" "if the network was at fault, run the same command again"
}

# The root stays: it holds what other commands need, and the next run finishes what this one began.
group_failed() {
  local group=$1 log=$2
  ! disk_is_full "$log" || die "the disk that holds $(cache_dir) is full; the packages of group '$group' are not complete" \
    "free some space and run the same command again; commands that do not need the group still work"
  die "the packages of group '$group' could not be installed; see $log" "if the network was at fault, run the same command again"
}

remove_setup_tmp() {
  [ -n "${SETUP_TMP:-}" ] || return 0
  # A process that is still dying may write once more, hence the second round.
  rm -rf --one-file-system "$SETUP_TMP" 2>/dev/null || { sleep 0.5 && rm -rf --one-file-system "$SETUP_TMP"; }
  SETUP_TMP=
}
