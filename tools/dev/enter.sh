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
  local engine groups="base $*" sum name proxies=()
  engine=$(container_engine)
  sum=$(cat "$(packages_file)" "$REPO/Dockerfile" | sha256sum)
  groups=$(printf '%s' "${groups% }" | tr ' ' '\n' | sort -u | tr '\n' ' ')
  groups=${groups% }
  IMAGE=wgkernels-dev:${sum:0:12}-${groups// /-}
  "$engine" image inspect "$IMAGE" >/dev/null 2>&1 && return 0
  say "building the image $IMAGE once"
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || proxies+=(--build-arg "$name")
  done
  "$engine" build -t "$IMAGE" "${proxies[@]}" --build-arg PACKAGE_GROUPS="$groups" "$REPO" >&2 </dev/null ||
    die "$engine could not build the image" "see its messages above; is its service running, and may you use it?"
}

# host_paths: what a container shows of this host, each ended by a zero byte: every path but the system folders, which are the
# image's own, and those that the engine makes; of the system folders what in-root shows, too.
host_paths() {
  local entry
  shopt -s dotglob nullglob
  for entry in /* /dev/shm /run/* /var/* /var/cache/* /var/lib/*; do
    case $entry in
      /usr | /etc | /bin | /sbin | /lib* | /proc | /sys | /dev | /run | /var | /var/cache | /var/lib | /lost+found) continue ;;
      /.dockerenv | /run/.containerenv | /run/podman-init | /run/secrets) continue ;;
      /var/cache/apt | /var/cache/debconf | /var/cache/ldconfig | /var/lib/apt | /var/lib/dpkg | /var/run | /var/lock) continue ;;
    esac
    [ ! -e "$entry" ] || printf '%s\0' "$entry"
  done
  for entry in "$REPO" "$PWD"; do
    case $entry in /usr/local/?* | /usr/src/?* | /etc/?*/?*) printf '%s\0' "$entry" ;; esac
  done
  for entry in /usr/local/nvidia /etc/ssl/certs/ca-certificates.crt /etc/npmrc /etc/pip.conf /etc/gitconfig; do
    [ ! -e "$entry" ] || printf '%s\0' "$entry"
  done
}

# The engine starts CMD with the caller's user, groups, variables, folder and host paths. What no engine passes on: SIGKILL, and
# descriptors beyond the standard streams.
enter_container() {
  local engine path name group args=(run --rm -i --network host --pid host --security-opt label=disable)
  engine=$(container_engine)
  if [ -t 0 ] && [ -t 1 ] && [ -t 2 ]; then args+=(-t); fi
  if [ "$engine" = podman ]; then
    args+=(--unsetenv-all)
    [ "$EUID" -eq 0 ] || args+=(--userns keep-id --group-add keep-groups)
  else
    args+=(--user "$(id -u):$(id -g)")
    for group in $(id -G); do args+=(--group-add "$group"); done
  fi
  while IFS= read -r -d '' path; do
    path=${path//\"/\"\"} # a field of comma-separated values
    args+=(--mount "type=bind,\"source=$path\",\"target=$path\"")
  done < <(host_paths)
  for path in /dev/dri /dev/nvidia*; do
    [ ! -e "$path" ] || args+=(--device "$path")
  done
  while IFS= read -r -d '' name; do args+=(--env "${name%%=*}"); done < <(env -0)
  exec "$engine" "${args[@]}" --workdir "$PWD" "$IMAGE" "$@"
}
