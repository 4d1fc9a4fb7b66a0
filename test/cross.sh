#!/bin/sh
# Puts the libraries that viewfold and its tests need, for another architecture, into build/ARCH/root. They are Debian's packages,
# of the release that this machine has, unpacked and not installed; apt's lists of them stay in build/ARCH/apt.
#
#   test/cross.sh ARCH        ARCH is aarch64
#
# Status 77, after a line that says so, where the compiler, the emulator or the packages are missing.
set -u
cd "$(dirname "$0")/.." || exit 2

arch=${1:-}
case $arch in
aarch64) debian=arm64 ;;
*) echo "cross.sh: no architecture is called '$arch' (aarch64)" >&2; exit 2 ;;
esac
skip() {
  echo "skip: the tests of $arch need $1" >&2
  exit 77
}
for word in "qemu-$arch" "$arch-linux-gnu-gcc"; do
  command -v "$word" >/dev/null || skip "$word; .ci/deps install cross installs it"
done
for word in apt-get dpkg-deb; do command -v "$word" >/dev/null || skip "$word, and Debian's packages"; done

packages="libxxhash-dev libffi-dev zlib1g-dev libjansson-dev libcmocka-dev libmpfr-dev libz3-dev opencl-c-headers ocl-icd-opencl-dev libllvm19"
root=$PWD/build/$arch/root
[ "$(cat "$root/packages" 2>/dev/null)" = "$packages" ] && exit 0

# apt as of a machine of that architecture on which nothing is installed: with these packages come all that they need.
apt=$PWD/build/$arch/apt
rm -rf "$root" "$apt"
mkdir -p "$root" "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status"
as_other() {
  apt-get -qq -o APT::Architecture="$debian" -o APT::Architectures="$debian" -o Dir::State="$apt" -o Dir::State::status="$apt/status" \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt" -o APT::Sandbox::User=root "$@"
}
# shellcheck disable=SC2086  # a list of words
if ! { as_other update && as_other install -y --download-only --no-install-recommends $packages; } >"$apt/log" 2>&1; then
  cat "$apt/log" >&2
  skip "Debian's packages of $debian, which could not be fetched"
fi
# The compiler has the C library's headers of its own.
for file in "$apt"/archives/*.deb; do
  case ${file##*/} in libc6-dev_* | linux-libc-dev_* | libc-dev-bin_*) continue ;; esac
  dpkg-deb -x "$file" "$root" || exit 2
done
find "$root" -type l | while read -r link; do
  case $(readlink "$link") in /*) ln -sfn "$root$(readlink "$link")" "$link" ;; esac
done
rm -rf "$apt"
# What runs the C compiler finds the one for that architecture.
mkdir -p "build/$arch/tools"
printf '#!/bin/sh\nexec %s "$@"\n' "$arch-linux-gnu-gcc" >"build/$arch/tools/cc"
chmod +x "build/$arch/tools/cc"
echo "$packages" >"$root/packages"
