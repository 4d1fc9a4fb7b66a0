#!/bin/sh
# A GPU's whole check in one run of a few minutes: is there a driver, does viewfold build (without LLVM, if it
# is missing), are results right, how fast are they.
#
#   sh test/bench/gpu.sh [--small] [--device NAME] [OPTION...]     options of gpu.py follow
#   sh test/bench/gpu.sh --pack       build here what a machine without the packages of `.ci/deps check build` can run:
#                                     build/gpu/, to be copied there with test/; the first form then uses it
#
# --small: shapes for a processor, such as PoCL's device. At the end come a table and build/gpu.json. Status:
# 0; 1 where a result is wrong or something failed; 2 when nothing could be built; 3 without an OpenCL driver.
# Each step has a time limit in seconds; together they are less than eight minutes.
set -u
cd "$(dirname "$0")/../.." || exit 2
say() { printf '\n== %s\n' "$*"; }
PATH=$PATH:/sbin:/usr/sbin
PYTHON=${PYTHON:-python3}
device=opencl
programs='build/viewfold build/bench/bench_device build/property/prop_graph'
building=150 asking=20 checking=60 timing=240

build() {
  # Without LLVM there is no module to build; the rest asks for the packages of the group build.
  # shellcheck disable=SC2086  # a list of words
  CC="${CC:-cc}" timeout $building make -j "$(nproc 2>/dev/null || echo 2)" CC="${CC:-cc}" all $programs
}

if [ "${1:-}" = --pack ]; then
  build || exit 2
  rm -rf build/gpu && mkdir -p build/gpu/bench build/gpu/property build/gpu/lib || exit 2
  for program in $programs; do cp "$program" "build/gpu/${program#build/}" || exit 2; done
  # Libraries that every machine has are left out: the C library and its parts.
  { ldd $programs | awk '$2 == "=>" { print $3 }'; ldconfig -p | awk '/libOpenCL\.so\.1 / { print $NF; exit }'; } |
    sort -u | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' |
    while read -r library; do cp -L "$library" build/gpu/lib/ || exit 2; done
  echo "build/gpu/ is made: $(du -sh build/gpu | cut -f1)"
  exit 0
fi

sizes=
while [ $# -gt 0 ]; do
  case $1 in
  --small) sizes='--mib 8 --product 256 --seconds 0.05 --torch cpu' ;;
  --device) device=$2; shift ;;
  *) break ;;
  esac
  shift
done

# ---------------------------------------------------------------------------------------------------------- the driver
say "OpenCL driver"
loaded() { ldconfig -p 2>/dev/null | awk -v name="$1" '$1 == name { print $NF; exit }'; }
first() { for f; do [ -e "$f" ] && { echo "$f"; return; }; done; }
vendors=$(ls "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd 2>/dev/null | tr '\n' ' ')
nvidia=$(loaded libnvidia-opencl.so.1)
: "${nvidia:=$(first /usr/local/nvidia/lib64/libnvidia-opencl.so.1 /usr/local/nvidia/lib/libnvidia-opencl.so.1 \
  /usr/lib/x86_64-linux-gnu/libnvidia-opencl.so.1 /usr/lib64/libnvidia-opencl.so.1)}"
loader=$(loaded libOpenCL.so.1)
: "${loader:=$(first /usr/local/cuda/lib64/libOpenCL.so.1 /usr/local/cuda/targets/x86_64-linux/lib/libOpenCL.so.1 \
  /usr/local/nvidia/lib64/libOpenCL.so.1 "$PWD/build/gpu/lib/libOpenCL.so.1")}"
if [ -z "$vendors" ] && [ -z "$nvidia" ]; then
  echo "There is NO OpenCL driver on this machine: no /etc/OpenCL/vendors/*.icd, no libnvidia-opencl.so.1."
  echo "Nothing was built or measured."
  exit 3
fi
if [ -z "$loader" ]; then
  echo "There is a driver (${vendors:-$nvidia}) but NO OpenCL loader, libOpenCL.so.1 (package ocl-icd-libopencl1)."
  echo "Nothing was built or measured. It can be carried here: test/bench/gpu.sh --pack."
  exit 3
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086  # a list of files
if [ -n "$nvidia" ] && ! grep -qs nvidia $vendors /dev/null; then
  echo "$nvidia" >"$work/nvidia.icd" # a driver without a vendor file, perhaps beside PoCL's, which is no GPU
  vendors="$work/nvidia.icd"
  OCL_ICD_VENDORS=$work
  export OCL_ICD_VENDORS
fi
case $(loaded libOpenCL.so.1) in '') LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$loader") ;; esac
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
echo "loader $loader, driver ${vendors:-$nvidia}"
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader

# ------------------------------------------------------------------------------------------------------------ building
say "building"
B=build
begin=$(date +%s)
if build >"$work/build.log" 2>&1; then
  echo "built in $(($(date +%s) - begin)) s$([ -e build/viewfold-llvm.so ] || echo ', without LLVM')"
elif [ -x build/gpu/bench/bench_device ]; then
  B=build/gpu
  LD_LIBRARY_PATH=$PWD/build/gpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  tail -n 3 "$work/build.log"
  echo "so what was built elsewhere is used, build/gpu/"
else
  cat "$work/build.log"
  echo "viewfold cannot be built here, and there is no build/gpu/ (test/bench/gpu.sh --pack makes it elsewhere)"
  exit 2
fi
VIEWFOLD_CACHE_DIR=$work/cache
export VIEWFOLD_CACHE_DIR
timeout $asking "$B/viewfold" devices || { echo "The device cannot be asked."; exit 3; }

# ------------------------------------------------------------------------------------------------------------ checking
failed=0
say "random graphs against the reference evaluator"
VIEWFOLD_DEVICE=$device timeout $checking "$B/property/prop_graph" --seed 1 --count 40
status=$?
[ $status = 124 ] && echo "stopped after $checking s"
case $status in 0 | 124) ;; *) failed=1 ;; esac

say "graphs of which drivers computed one address for two, or one lane's for all"
timeout $asking "$B/viewfold" check --device "$device" test/opencl/addresses.vf || failed=1

# -------------------------------------------------------------------------------------------------------------- timing
say "workloads"
# shellcheck disable=SC2086  # a list of words
timeout $timing "$PYTHON" test/bench/gpu.py --build "$B" --device "$device" --json build/gpu.json \
  --time $((timing - 10)) $sizes "$@" || failed=1
[ -e build/gpu.json ] && echo "build/gpu.json has the same for programs"
exit $failed
