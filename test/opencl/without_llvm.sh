#!/bin/sh
# Without the module that compiles for CPUs, the C compiler compiles kernels; without both, commands that need
# them say so, and graphs run on OpenCL devices. The soaks build without LLVM, which must build and install everything but the module, and
# say so. `make test` runs the command alone in a folder.
. test/opencl/common.sh
fail() { echo "$*"; exit 1; }

build_without() { # in a copy of the tree
  mkdir "$work/tree"
  { git ls-files -co --exclude-standard 2>/dev/null || find . -path ./build -prune -o -type f -print; } |
    while read -r file; do [ -e "$file" ] && echo "$file"; done | tar cf - -T - | tar xf - -C "$work/tree"
  cd "$work/tree" || exit 1
  flags=$(at_level '' -O0 '-O2 -g')
  $prefix make LLVM_CONFIG=/nonexistent CC="${CC:-cc}" CFLAGS="$flags" all >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log"; exit 1; }
  grep -q 'viewfold-llvm.so.* is left out' "$work/log" || fail "nothing says that the module is left out"
  [ ! -e build/viewfold-llvm.so ] || fail "there is a module"
  make -s LLVM_CONFIG=/nonexistent CC="${CC:-cc}" CFLAGS="$flags" install DESTDIR="$work/installed" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
  [ -e "$work/installed/usr/local/bin/viewfold" ] || fail "nothing is installed"
}

if [ "$level" = test ]; then
  mkdir "$work/alone"
  cp "$build/viewfold" "$work/alone"
  command=$work/alone/viewfold done=run
else
  build_without
  command=build/viewfold done='built, installed, run'
fi
printf 'graph @f(%%x: f32[4]) {\n  %%y = mul %%x, 3.0\n  return %%y\n}\n' >"$work/f.vf"
"$command" run "$work/f.vf" --in 'x=[1,2,3,4]' >"$work/out" 2>&1
grep -qF '[3.0, 6.0, 9.0, 12.0]' "$work/out" || { cat "$work/out"; fail "the C compiler does not serve"; }
CC=/nonexistent VIEWFOLD_CACHE_DIR="$work/empty" "$command" run "$work/f.vf" --in 'x=[1,2,3,4]' >"$work/out" 2>&1
[ $? = 3 ] || { cat "$work/out"; fail "without a module and a C compiler the processor does not give status 3"; }
grep -q 'code generator viewfold-llvm.so is missing' "$work/out" || { cat "$work/out"; fail "the wrong message"; }
if [ -e /etc/OpenCL/vendors/pocl.icd ]; then
  "$command" run "$work/f.vf" --in 'x=[1,2,3,4]' --device opencl >"$work/out" 2>&1
  grep -qF '[3.0, 6.0, 9.0, 12.0]' "$work/out" || { cat "$work/out"; fail "the device does not work"; }
fi
echo "without LLVM: $done"
