# Sourced by examples/run.sh, tests/run.sh and benchmarks: installs the Debian packages of the given groups that are
# missing. cmake/packages.txt is the list.
install_packages() {
  local root list group package missing=()
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  list="$root/cmake/packages.txt"
  command -v dpkg-query >/dev/null || return 0  # not Debian: CMake names what it does not find
  for group in "$@"; do
    while read -r package; do
      dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
    done < <(awk -v group="$group" '$1 == group { print $2 }' "$list")
  done
  [ ${#missing[@]} -eq 0 ] && return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "These packages are missing and neither root nor sudo is at hand: ${missing[*]}" >&2
      echo "Install them (apt-get install ${missing[*]}) and run this again." >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
