# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Where commands run: on this host (Debian forky with the packages), in the build root (as root), or in a container.

SYSTEM_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# WHERE is host, root or container. WGK_DEV_MODE forces one.
choose_where() {
  [ -z "${WHERE:-}" ] || return 0
  WHERE=${WGK_DEV_MODE:-}
  case $WHERE in
    host | root | container) return 0 ;;
    '') ;;
    *) usage_error "WGK_DEV_MODE is '$WHERE'; expected host, root or container" ;;
  esac
  if host_is_forky && [ -z "$(missing_on_host base)" ]; then
    WHERE=host
  elif [ "$EUID" -eq 0 ]; then
    WHERE=root
  elif have docker || have podman; then
    WHERE=container
  else
    die "this is not Debian forky with the packages of packages.txt, and a build root needs root rights" \
      "run ./dev as root, or install Docker or Podman"
  fi
}

host_is_forky() { grep -qsx 'VERSION_CODENAME="\?forky"\?' /etc/os-release; }

# missing_on_host GROUP...: the packages of the groups that this host lacks.
missing_on_host() {
  local wanted
  wanted=$(list_packages "$@") || exit 1
  # shellcheck disable=SC2016,SC2086 # dpkg's own variables; one word is one package
  comm -23 <(printf '%s\n' "$wanted") \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort -u)
}

# need GROUP...: makes the environment, with these groups beside base.
need() {
  choose_where
  case $WHERE in
    root)
      [ "$EUID" -eq 0 ] || die "a build root needs root rights" "run ./dev as root"
      ensure_root "$@"
      ;;
    host) ensure_host "$@" ;;
    container) ensure_image "$@" ;;
  esac
}

ensure_host() {
  local missing
  missing=$(missing_on_host base "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  [ "$EUID" -eq 0 ] || die "these packages are missing: $missing" "install them: apt-get install ${missing% }"
  say "installing on this host: $missing"
  # shellcheck disable=SC2086
  { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing; } >&2 </dev/null ||
    die "the packages could not be installed" "see apt's messages above"
}

# The environment's own settings: a folder for run-time files, and the software device where nothing better is in sight.
set_device_env() {
  local icd
  if [ -z "${XDG_RUNTIME_DIR:-}" ]; then
    XDG_RUNTIME_DIR=/run/user/$EUID
    [ -d "$XDG_RUNTIME_DIR" ] || XDG_RUNTIME_DIR=$(cache_dir)/run
    (umask 077 && mkdir -p "$XDG_RUNTIME_DIR") 2>/dev/null || XDG_RUNTIME_DIR=/tmp
    export XDG_RUNTIME_DIR
  fi
  [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}${VK_ADD_DRIVER_FILES:-}" ] || return 0
  icd=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
  if [ -e "$icd" ]; then
    export VK_DRIVER_FILES=$icd LD_LIBRARY_PATH=/usr/local/nvidia/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    return 0
  fi
  for icd in /dev/dri/renderD* /dev/nvidia[0-9]*; do
    [ ! -e "$icd" ] || return 0
  done
  for icd in "${ROOT:-}"/usr/share/vulkan/icd.d/lvp_icd*.json; do
    [ ! -e "$icd" ] || export VK_DRIVER_FILES=${icd#"${ROOT:-}"}
  done
  [ "$WHERE" != container ] || export VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json
}

# enter CMD...: replaces this process by CMD in the environment. Arguments, environment, streams, signals, exit status and
# working folder are CMD's own: nothing stands between it and the caller.
enter() {
  set_device_env
  case $WHERE in
    host) exec "$@" ;;
    root) exec unshare --mount --propagation private "$REPO/tools/dev/in-root" "$ROOT" "$REPO" "$@" ;;
    container) enter_container "$@" ;;
  esac
}

# inside CMD...: runs one of ./dev's own steps in the environment, with its tools first.
inside() {
  (
    export PATH=$SYSTEM_PATH
    unset LD_LIBRARY_PATH LD_PRELOAD PYTHONHOME PYTHONPATH
    cd "$REPO" && enter "$@"
  )
}

container_engine() { if have docker; then echo docker; else echo podman; fi; }

ensure_image() {
  local engine groups="base $*" sum
  engine=$(container_engine)
  sum=$(cat "$(packages_file)" "$REPO/Dockerfile" | sha256sum)
  groups=$(printf '%s' "${groups% }" | tr ' ' '\n' | sort -u | tr '\n' ' ')
  groups=${groups% }
  IMAGE=wgkernels-dev:${sum:0:12}-${groups// /-}
  "$engine" image inspect "$IMAGE" >/dev/null 2>&1 && return 0
  say "building the image $IMAGE once"
  "$engine" build -t "$IMAGE" --build-arg PACKAGE_GROUPS="$groups" "$REPO" >&2 </dev/null ||
    die "$engine could not build the image" "see its messages above; is its service running, and may you use it?"
}

enter_container() {
  local engine entry name args=(run --rm -i --init --network host)
  engine=$(container_engine)
  if [ -t 0 ] && [ -t 1 ]; then args+=(-t); fi
  if [ "$engine" = podman ]; then args+=(--userns keep-id); else args+=(--user "$(id -u):$(id -g)"); fi
  for entry in /*; do
    case $entry in
      /usr | /etc | /bin | /sbin | /lib* | /proc | /sys | /dev | /var | /run | /boot | /lost+found) ;;
      *) [ ! -d "$entry" ] || args+=(--volume "$entry:$entry") ;;
    esac
  done
  [ ! -d /var/tmp ] || args+=(--volume /var/tmp:/var/tmp)
  [ ! -d /dev/dri ] || args+=(--device /dev/dri)
  while read -r name; do args+=(--env "$name"); done < <(compgen -e)
  exec "$engine" "${args[@]}" --workdir "$PWD" "$IMAGE" "$@"
}
