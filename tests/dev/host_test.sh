#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ./dev in place, on a Debian forky that has the packages. The environment is one: what runs inside it finds itself on such a host.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2317,SC2329
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

in_place() { "$DEV" shell -c 'unset WGK_DEV_MODE; exec "$@"' _ "$@"; } # CMD...: on the forky host

test_it_is_chosen() {
  same "where" host "$(in_place bash -c 'REPO=$1; . "$1/tools/dev/common.sh"; . "$1/tools/dev/root.sh"; . "$1/tools/dev/enter.sh"
    choose_where; echo "$WHERE"' _ "$REPO")"
}

# The same tests as for other environments, on the host.
test_arguments_environment_streams_status_and_folders() { in_place bash "$REPO/tests/dev/enter_test.sh"; }
test_building() { in_place bash "$REPO/tests/dev/build_test.sh"; }

test_the_program_is_not_built_again() {
  "$DEV" build >/dev/null 2>&1
  contains "devices" llvmpipe "$(in_place env VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json "$DEV" wgk devices 2>err)"
  same "it says nothing" "" "$(cat err)"
}

# A list with one package that is here and, in another group, one that is not; apt-get only notes how it is called.
missing_package() {
  mkdir -p checkout/src bin
  cp -r "$REPO/dev" "$REPO/tools" "$REPO/Dockerfile" checkout
  echo 'int x;' >checkout/src/x.cpp
  printf '[base]\ng++\n[check]\nno-such-package\n' >checkout/packages.txt
  printf '#!/bin/sh\necho "$*" >>"%s/apt.log"\n' "$PWD" >bin/apt-get
  chmod +x bin/apt-get
  chmod -R a+rX . && chmod a+rx "$PWD"
}

test_root_installs_what_a_command_needs() {
  [ "$EUID" -eq 0 ] || return 0
  missing_package
  in_place env PATH="$PWD/bin:$PATH" checkout/dev shell -c :
  [ ! -e apt.log ] || fail "a group that nobody needed is installed"
  in_place env PATH="$PWD/bin:$PATH" checkout/dev fmt >/dev/null 2>err
  contains "message" "installing on this host: no-such-package" "$(cat err)"
  contains "apt-get" "--no-install-recommends install no-such-package" "$(cat apt.log)"
}

test_others_are_told_what_to_install() {
  [ "$EUID" -eq 0 ] || return 0
  missing_package
  local rc=0
  in_place setpriv --reuid 65534 --regid 65534 --clear-groups checkout/dev shell -c 'echo fine' >out
  same "without the group" fine "$(cat out)"
  in_place setpriv --reuid 65534 --regid 65534 --clear-groups checkout/dev fmt 2>err || rc=$?
  same "status" 1 "$rc"
  contains "message" "these packages are missing: no-such-package" "$(cat err)"
  contains "hint" "apt-get install no-such-package" "$(cat err)"
}

run_tests
