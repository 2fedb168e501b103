#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Setting up the build root: once, atomically, under concurrency, kills and a full disk. debootstrap and apt-get are replaced
# by small programs that make a tiny tree of this host's own files, so each set-up takes a moment.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2317,SC2329
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ "$EUID" -eq 0 ] || { echo "needs root" && exit 77; }
unshare --mount true 2>/dev/null || { echo "needs private mount namespaces" && exit 77; }

# usage: fake debootstrap [OPTIONS] forky DIR MIRROR SCRIPT; FAKE_SLEEP, FAKE_FILL and FAKE_FAIL shape its behaviour.
write_fakes() {
  mkdir -p bin
  cat >bin/debootstrap <<'EOF'
#!/bin/bash
while [[ $1 == --* ]]; do shift; done
dir=$2
echo "start $$ mirror=$3" >>"$FAKE_LOG"
mkdir -p "$dir"/{usr/bin,usr/sbin,usr/lib,usr/lib64,etc/apt/apt.conf.d,etc/dpkg/dpkg.cfg.d,mnt,run,root,var/lib/dpkg,var/lib/apt}
ln -s usr/bin usr/sbin usr/lib usr/lib64 "$dir/"
[ "${FAKE_FAIL:-}" != debootstrap ] || exit 1
if [ -n "${FAKE_FILL:-}" ]; then head -c "$FAKE_FILL" /dev/zero >"$dir/usr/big" || exit 1; fi
sleep "${FAKE_SLEEP:-0}"
for program in bash env sleep cat touch ls; do cp "$(command -v "$program")" "$dir/usr/bin/"; done
ln -s bash "$dir/usr/bin/sh"
ldd "$dir"/usr/bin/{bash,env,sleep,cat,touch,ls} | grep -o '/[^ ]*' | grep -v ':$' | sort -u | while read -r file; do
  mkdir -p "$dir/$(dirname "$file")" && cp -Ln "$file" "$dir$file"
done
printf '#!/bin/sh\necho "dpkg $*" >>/etc/fake.log\n' >"$dir/usr/bin/dpkg"
cat >"$dir/usr/bin/apt-get" <<'INNER'
#!/bin/bash
echo "apt-get $*" >>/etc/fake.log
[[ " $* " == *" install "* && $* != *" install" ]] || exit 0
[ ! -e /etc/fake.sleep ] || sleep "$(cat /etc/fake.sleep)"
[ ! -e /etc/fake.fill ] || cat /dev/zero >/usr/big || exit 100
[ ! -e /etc/fake.refuse ] || { echo "E: You don't have enough free space in /var/cache/apt/archives/."; exit 100; }
for word; do [[ $word == -* || $word == *=* || $word == install ]] || printf '#!/bin/sh\necho fake "$@"\n' >"/usr/bin/$word"; done
for word; do [[ $word == -* || $word == *=* || $word == install ]] || PATH=/usr/bin chmod +x "/usr/bin/$word" 2>/dev/null; done
exit 0
INNER
cp "$(command -v chmod)" "$dir/usr/bin/"
chmod +x "$dir/usr/bin/dpkg" "$dir/usr/bin/apt-get"
echo "stop $$" >>"$FAKE_LOG"
EOF
  chmod +x bin/debootstrap
  printf '[base]\nfirst\n[check]\nclang-format\n' >packages.txt
  export FAKE_LOG=$PWD/fake.log PATH=$PWD/bin:$PATH WGK_DEV_MODE=root WGK_DEV_NEED_MIB=1
  export WGK_DEV_CACHE="$PWD/the cache" WGK_DEV_PACKAGES=$PWD/packages.txt
  : >"$FAKE_LOG"
}

root_of() { printf '%s/root-%s' "$WGK_DEV_CACHE" "$(sha256sum <packages.txt | cut -c1-12)"; }
starts() { grep -c '^start' "$FAKE_LOG"; }
leftovers() { [ ! -d "$WGK_DEV_CACHE" ] || find "$WGK_DEV_CACHE" -maxdepth 1 -name '*.tmp.*'; }
tmp_exists() { [ -n "$(leftovers)" ] && [ -s "$FAKE_LOG" ]; }
setup_is_gone() { ! grep -qsa "$PWD/bin/[d]ebootstrap" /proc/[0-9]*/cmdline; }

test_made_once_and_reused() {
  write_fakes
  same "first run" hello "$("$DEV" shell -c 'echo hello' 2>err)"
  contains "progress in plain lines" "unpacking Debian forky: done in" "$(cat err)"
  same "second run" again "$("$DEV" shell -c 'echo again' 2>err)"
  same "second run says nothing" "" "$(cat err)"
  same "set-ups" 1 "$(starts)"
  same "leftovers" "" "$(leftovers)"
  contains "installed" "install first" "$(cat "$(root_of)/etc/fake.log")"
}

test_signs_of_life_without_a_terminal() {
  write_fakes
  sed -i 's/^sleep "\${FAKE_SLEEP:-0}"/echo "Retrieving things"; &/' bin/debootstrap
  FAKE_SLEEP=3 WGK_DEV_HEARTBEAT=1 "$DEV" shell -c : 2>err
  contains "progress" "Retrieving things" "$(cat err)"
  contains "the end" "unpacking Debian forky: done in" "$(cat err)"
}

test_another_list_makes_another_root() {
  write_fakes
  "$DEV" shell -c : 2>/dev/null
  echo other >>packages.txt
  "$DEV" shell -c : 2>/dev/null
  same "set-ups" 2 "$(starts)"
}

test_two_at_once() {
  write_fakes
  export FAKE_SLEEP=0.7
  "$DEV" shell -c 'echo one' >one 2>err1 &
  local first=$!
  "$DEV" shell -c 'echo two' >two 2>err2
  wait "$first"
  same "outputs" "one two" "$(cat one) $(cat two)"
  same "set-ups" 1 "$(starts)"
  contains "the second one says that it waits" "waiting for it" "$(cat err1 err2)"
}

test_killed_half_way() {
  write_fakes
  FAKE_SLEEP=60 "$DEV" shell -c 'echo never' 2>/dev/null &
  local pid=$!
  eventually 10 tmp_exists || fail "set-up did not start"
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
  eventually 5 setup_is_gone || fail "processes of the killed set-up live on"
  [ ! -e "$(root_of)" ] || fail "a half root is in use"
  same "next run" fine "$("$DEV" shell -c 'echo fine' 2>/dev/null)"
  same "leftovers" "" "$(leftovers)"
}

test_terminated_half_way_cleans_up_at_once() {
  local signal rc pid
  for signal in TERM HUP; do
    write_fakes
    # A shell cannot trap what was ignored when it began, such as HUP under nohup.
    FAKE_SLEEP=60 env --default-signal=TERM,HUP "$DEV" shell -c 'echo never' 2>/dev/null &
    pid=$! rc=0
    eventually 10 tmp_exists || fail "set-up did not start"
    kill -"$signal" "$pid"
    wait "$pid" || rc=$?
    same "status" "$((128 + $(kill -l "$signal")))" "$rc"
    same "leftovers" "" "$(leftovers)"
    [ ! -e "$(root_of)" ] || fail "a half root is in use"
  done
}

test_set_up_fails() {
  write_fakes
  local rc=0
  FAKE_FAIL=debootstrap "$DEV" shell -c : 2>err || rc=$?
  same "status" 1 "$rc"
  contains "message" "the build root could not be set up" "$(cat err)"
  same "leftovers" "" "$(leftovers)"
  same "next run" fine "$("$DEV" shell -c 'echo fine' 2>/dev/null)"
}

# On a small tmpfs that only this test sees.
test_disk_full() {
  write_fakes
  mkdir small
  export WGK_DEV_CACHE=$PWD/small FAKE_FILL=60000000
  unshare --mount --propagation private bash -c '
    mount -t tmpfs -o size=40m small small
    rc=0; "$1" shell -c : 2>err || rc=$?
    echo "$rc" >status; ls -A small | grep -v -e "\.log$" -e "\.lock$" >left
    WGK_DEV_NEED_MIB=2500 "$1" shell -c : 2>early || echo $? >>status' _ "$DEV" || true
  same "status" "1 1" "$(tr '\n' ' ' <status | sed 's/ $//')"
  contains "message" "is full; the unfinished build root was removed" "$(cat err)"
  contains "message before the start" "needs 2500 MiB, but $PWD/small has only" "$(cat early)"
  same "what is left" "" "$(cat left)"
}

test_cache_cannot_be_written() {
  write_fakes
  : >file
  local rc=0
  WGK_DEV_CACHE=$PWD/file/cache "$DEV" shell -c : 2>err || rc=$?
  same "status" 1 "$rc"
  contains "message" "cannot make the cache folder" "$(cat err)"
}

small_checkout() {
  mkdir -p checkout/src/base
  cp -r "$REPO/dev" "$REPO/tools" "$REPO/Dockerfile" checkout
  echo 'int x;' >checkout/src/base/x.cpp
}

test_groups_on_demand() {
  write_fakes
  small_checkout
  "$DEV" shell -c : 2>/dev/null
  [ ! -e "$(root_of)/usr/bin/clang-format" ] || fail "a group that nobody needed is installed"
  contains "output" "fake --dry-run --Werror" "$(checkout/dev fmt --check 2>err)"
  contains "progress" "installing the packages of group 'check'" "$(cat err)"
  checkout/dev fmt --check >/dev/null 2>err
  same "second time" "" "$(cat err)"
  same "set-ups" 1 "$(starts)"
}

test_group_killed_half_way_is_repaired() {
  write_fakes
  small_checkout
  "$DEV" shell -c : 2>/dev/null
  echo 60 >"$(root_of)/etc/fake.sleep"
  checkout/dev fmt --check >/dev/null 2>&1 &
  local pid=$!
  eventually 10 grep -q 'install clang-format' "$(root_of)/etc/fake.log" || fail "the installation did not start"
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
  rm "$(root_of)/etc/fake.sleep"
  same "base is still usable" fine "$("$DEV" shell -c 'echo fine' 2>/dev/null)"
  : >"$(root_of)/etc/fake.log"
  contains "output" "fake --dry-run" "$(checkout/dev fmt --check 2>/dev/null)"
  contains "repaired first" "dpkg --configure -a" "$(head -1 "$(root_of)/etc/fake.log")"
}

test_disk_full_while_a_group_is_installed() {
  write_fakes
  small_checkout
  mkdir small
  export WGK_DEV_CACHE=$PWD/small
  unshare --mount --propagation private bash -c '
    mount -t tmpfs -o size=100m small small
    "$1" shell -c : 2>/dev/null
    root=$(echo small/root-*[0-9a-f])
    for kind in fill refuse; do
      touch "$root/etc/fake.$kind"
      rc=0; checkout/dev fmt --check >/dev/null 2>"err.$kind" || rc=$?
      echo "$rc" >>status
      rm "$root/etc/fake.$kind"
      "$1" shell -c "echo fine" >>base 2>&1
      rm -f "$root/usr/big"
    done
    checkout/dev fmt --check >again 2>/dev/null' _ "$DEV"
  same "status" "1 1" "$(tr '\n' ' ' <status | sed 's/ $//')"
  for kind in fill refuse; do
    contains "message" "is full; the packages of group 'check' are not complete" "$(cat "err.$kind")"
    [[ $(cat "err.$kind") != *removed* ]] || fail "it says that something was removed"
  done
  same "base is still usable" "fine fine" "$(tr '\n' ' ' <base | sed 's/ $//')"
  contains "the next run finishes it" "fake --dry-run" "$(cat again)"
}

test_without_rights_and_containers() {
  write_fakes
  small_checkout
  chmod -R a+rX . && chmod a+rx "$PWD"
  local rc=0
  env -u WGK_DEV_MODE PATH=/usr/bin:/bin setpriv --reuid 65534 --regid 65534 --clear-groups checkout/dev shell -c : 2>err || rc=$?
  same "status" 1 "$rc"
  contains "message" "run ./dev as root, or install Docker or Podman" "$(cat err)"
}

# A stand-in for docker notes how it is called and then runs the command itself.
test_container_without_root() {
  write_fakes
  small_checkout
  cat >bin/docker <<'EOF'
#!/bin/bash
printf '%s\n' "$*" >>"$FAKE_LOG"
case $1 in
  image) exit 1 ;;
  run) while [[ $1 != wgkernels-dev:* ]]; do shift; done; shift; exec "$@" ;;
esac
EOF
  chmod +x bin/docker
  chmod -R a+rwX . && chmod a+rx "$PWD"
  same "output" "a b=x y" "$(env -u WGK_DEV_MODE "V=x y" setpriv --reuid 65534 --regid 65534 --clear-groups \
    checkout/dev shell -c 'echo "$1=$V"' _ 'a b' 2>err)"
  contains "build" "--build-arg PACKAGE_GROUPS=base" "$(cat fake.log)"
  contains "folder" "--workdir $PWD wgkernels-dev:" "$(cat fake.log)"
  contains "user" "--user 65534:65534" "$(cat fake.log)"
  contains "variables" "--env V " "$(cat fake.log)"
  contains "groups" "--group-add 65534" "$(cat fake.log)"
  for path in /tmp /var/tmp /var/log /boot; do
    [ ! -e "$path" ] || contains "host folders" "--mount type=bind,\"source=$path\",\"target=$path\"" "$(cat fake.log)"
  done
  for path in /usr /etc /var /var/lib /var/lib/dpkg /run /proc /dev; do
    [[ $(cat fake.log) != *"\"source=$path\""* ]] || fail "$path of the host is shown"
  done
}

test_package_list() {
  write_fakes
  printf '# list\n[one]\nb # why\n\na\n[two]\nc\na\n' >list
  same "groups" "a b c" "$("$REPO/tools/dev/list-packages" list one two | tr '\n' ' ' | sed 's/ $//')"
  ! "$REPO/tools/dev/list-packages" list three 2>err || fail "an unknown group is accepted"
  contains "message" "has no group 'three'" "$(cat err)"
}

run_tests
