# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev bundle: the program as a folder that runs on another Linux machine of this architecture, whatever its C library.

cmd_bundle() {
  local dir='' archive=0 version
  while [ $# -gt 0 ]; do
    case $1 in
      --archive) archive=1 ;;
      -*) usage_error "bundle: unknown option '$1'; expected --archive" ;;
      *)
        [ -z "$dir" ] || usage_error "bundle: more than one folder"
        dir=$1
        ;;
    esac
    shift
  done
  version=$(sed -n 's/^project(wgkernels VERSION \([0-9.]*\).*/\1/p' "$REPO/CMakeLists.txt")
  [ -n "$dir" ] || dir=$REPO/dist/wgkernels-$version-linux-$(uname -m)
  dir=$(realpath -m "$dir")
  case $dir in / | "$REPO" | "${HOME:-/root}") usage_error "bundle: will not replace $dir" ;; esac
  [ ! -e "$dir" ] || [ -e "$dir/lib/ld-linux.so" ] || die "$dir exists and is no bundle" "remove it or name another folder"
  need bundle
  build release wgk || exit 1
  inside "$REPO/tools/dev/make-bundle" "$dir" "$REPO/build/release" || die "the bundle could not be made"
  if [ "$archive" = 1 ]; then
    inside tar -C "$(dirname "$dir")" -I 'xz -2 -T0' -cf "$dir.tar.xz" "$(basename "$dir")" || die "the archive could not be made"
    printf '%s\n' "$dir.tar.xz"
  fi
  printf '%s\n' "$dir"
}
