#!/bin/sh
# The C library musl: a model as an object and as C, with threads of libviewfold-pool.a, is linked with it alone and runs; full: all
# sources of the library and the command compile with its headers, and need no name that neither it nor a library they are linked with
# has. They are not linked, since those libraries are built for glibc here.
#
# LEVEL test: skipped, since it is few who have musl-gcc (package musl-tools).
. test/campaign/common.sh
[ "$level" != test ] || skip "short and full compile with musl"
command -v musl-gcc >/dev/null || skip "there is no musl-gcc (package musl-tools)"
needs "$build/viewfold" make
failed=0
options="-std=gnu17 -w -pthread -ffp-contract=off -I. -Ifrontend -I$build/gen -I$work -isystem $work/include -DVIEWFOLD_VERSION=\"0\" -DVF_NO_PLACES"
pool='frontend/api/pool.c runtime/system/pool.c runtime/system/cores.c runtime/system/stack.c ir/base.c'

cat >"$work/sum.vf" <<'GRAPH'
graph @sum(%x: f32[1000,1000]) {
  %y = sum %x axes=[0,1]
  return %y
}
GRAPH
cat >"$work/main.c" <<'PROGRAM'
#include <stdio.h>
#include <stdlib.h>
#include "sum.h"
#include "viewfold_pool.h"
int main(void) {
  float *x = malloc(sum_x_BYTES), y = 0;
  for (int i = 0; i < 1000000; i++) x[i] = (float)(i % 4);
  sum_arrays arrays = {x, &y};
  sum_host host = {vf_pool_create(2), vf_pool_parallel_for};
  void *arena = malloc(sum_ARENA_BYTES + sum_WORKER_BYTES + 1);
  if (sum_run(&arrays, arena, &host) != 0) return 1;
  printf("%g\n", y);
  vf_pool_destroy(host.user);
}
PROGRAM
for form in o c; do
  # shellcheck disable=SC2086  # lists of words
  { "$build/viewfold" build "$work/sum.vf" -o "$work/model.$form" --header "$work/sum.h" --threads &&
    musl-gcc -static -O1 $options "$work/main.c" "$work/model.$form" $pool -lm -o "$work/main"; } >"$work/log" 2>&1 &&
    [ "$("$work/main")" = 1.5e+06 ] || { tail -5 "$work/log"; echo "FAIL a model as .$form with threads"; failed=1; }
done

sources=0
if [ "$level" = full ]; then
  mkdir "$work/include"
  for name in xxhash.h zlib.h zconf.h jansson.h jansson_config.h png.h pngconf.h pnglibconf.h ffi.h ffitarget.h CL linux asm-generic asm; do
    for folder in "/usr/include/$(uname -m)-linux-gnu" /usr/include; do
      [ ! -e "$folder/$name" ] || ln -sfn "$folder/$name" "$work/include/$name"
    done
  done
  for file in $(git ls-files 'ir/*.c' 'passes/*.c' 'codegen/*.c' 'runtime/*.c' 'frontend/*.c' | grep -v '^codegen/llvm/\|^runtime/mpi/mpi[.]c$\|^frontend/python/'); do
    sources=$((sources + 1))
    # shellcheck disable=SC2086
    $prefix musl-gcc -O0 $options -c "$file" -o "$work/$sources.o" 2>"$work/log" || { head -3 "$work/log"; echo "FAIL $file"; failed=1; }
  done
  musl=$(find /usr/lib /usr/local -path '*musl*' -name libc.a 2>/dev/null | head -1) # musl-gcc may name glibc's
  [ -e "$musl" ] || musl=$(musl-gcc -print-file-name=libc.a)
  { nm --defined-only "$work"/*.o "$musl" "$(musl-gcc -print-libgcc-file-name)" "$build/libviewfold-internal.a" 2>/dev/null | awk 'NF == 3 { print $3 }' && echo _GLOBAL_OFFSET_TABLE_ && echo __cpu_model; } | sort -u >"$work/defined"
  nm -u "$work"/*.o | awk '/ U / { print $2 }' | sort -u | comm -23 - "$work/defined" |
    grep -v '^XXH\|^png_\|^json_\|^ffi_\|^inflate\|^deflate\|^crc32\|^adler32\|^gz\|^compress\|^uncompress' >"$work/missing"
  [ ! -s "$work/missing" ] || { sed 's/^/  /' "$work/missing"; echo "FAIL names that nothing has"; failed=1; }
fi
[ $failed = 0 ] && echo "a model as an object and as C, with threads, and $sources sources by musl"
exit $failed
