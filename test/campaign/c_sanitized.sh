#!/bin/sh
# Workloads as C, built with sanitizers: each graph becomes a C file with loops for threads, which is compiled with the pool's
# sources and a program that allocates each array as large as the header says. AddressSanitizer with UndefinedBehaviorSanitizer,
# and ThreadSanitizer with two threads, find nothing; and results have the bits of the object that LLVM makes of the same graph.
#
# LEVEL test: skipped, since one takes five seconds; short: a few; full: all.
. test/campaign/common.sh
[ "$level" != test ] || skip "short and full build workloads with sanitizers"
command -v "${CC:-cc}" >/dev/null || skip "there is no C compiler"
PATH="$PWD/$build:$PATH"
root=$PWD failed=0 tried=0
pool='frontend/api/pool.c runtime/system/pool.c runtime/system/cores.c runtime/system/stack.c ir/base.c'
workloads=$(at '' 'A1 A2 C1 E2exp M1_512 R1 V3' "$(cd frontend/workloads && ls -- *.vf | sed 's/[.]vf$//')")

# Prints the program for a header: every array in memory of its own, inputs made up, a digest of the results. Integers are 0, which is
# in range wherever they are indices.
program() { # NAME HEADER
  awk -v name="$1" '
    $1 == "const" && /\/\* input/ || /\/\* output|\/\* ref/ { field = $0; sub(/;.*/, "", field); sub(/.*[* ]/, "", field); fields[++n] = field; out[field] = /\/\* (output|ref)/ }
    $1 == "#define" && $2 ~ "_DTYPE$" { field = $2; sub("^" name "_", "", field); sub(/_DTYPE$/, "", field); dtype[field] = $3 }
    END {
      printf "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include \"viewfold_pool.h\"\n#include \"%s.h\"\n", name
      print "static unsigned long state = 1;\nstatic double next(void) { state = state * 6364136223846793005ul + 1442695040888963407ul; return (double)(state >> 40) / (1 << 24); }"
      print "int main(void) {\n  unsigned long digest = 14695981039346656037ul;\n  vf_pool *pool = vf_pool_create(2);"
      printf "  %s_host host = {pool, vf_pool_parallel_for};\n", name
      for (i = 1; i <= n; i++) {
        f = fields[i]
        printf "  char *a%d = calloc(1, %s_%s_BYTES);\n", i, name, f
        if (!out[f] && dtype[f] == "\"f32\"") printf "  for (long i = 0; i < %s_%s_BYTES / 4; i++) ((float *)a%d)[i] = (float)next();\n", name, f, i
        if (!out[f] && dtype[f] == "\"f64\"") printf "  for (long i = 0; i < %s_%s_BYTES / 8; i++) ((double *)a%d)[i] = next();\n", name, f, i
      }
      printf "  %s_arrays arrays = {", name
      for (i = 1; i <= n; i++) printf "%s(void *)a%d", (i > 1 ? ", " : ""), i
      printf "};\n  void *arena = malloc(%s_ARENA_BYTES + %s_WORKER_BYTES + 1);\n", name, name
      printf "  if (!pool || !arena || %s_run(&arrays, arena, &host) != 0) return 1;\n", name
      for (i = 1; i <= n; i++)
        if (out[fields[i]]) printf "  for (long i = 0; i < %s_%s_BYTES; i++) digest = (digest ^ (unsigned char)a%d[i]) * 1099511628211ul;\n", name, fields[i], i
      for (i = 1; i <= n; i++) printf "  free(a%d);\n", i
      print "  free(arena);\n  vf_pool_destroy(pool);\n  printf(\"%016lx\\n\", digest);\n}"
    }' "$2"
}
compile() { # OUTPUT FILES AND OPTIONS
  output=$1
  shift
  # shellcheck disable=SC2086  # lists of words
  (cd "$root" && ${CC:-cc} -std=gnu17 -O1 -g -march=native -ffp-contract=off -pthread -w -I. -Ifrontend -I"$work/one" \
    -DVIEWFOLD_VERSION='"0"' -DVF_NO_PLACES "$@" $pool -lm -o "$output" 2>"$work/log") || { tail -5 "$work/log"; return 1; }
}

for name in $workloads; do
  file=$name.vf
  rm -rf "$work/one" && mkdir "$work/one"
  for form in c o; do
    viewfold build "frontend/workloads/$file" -o "$work/one/model.$form" --header "$work/one/$name.h" --name "$name" --threads 2>"$work/log" || { cat "$work/log"; failed=1; continue 2; }
  done
  if grep -q "${name}_sizes;" "$work/one/$name.h"; then echo "$name: left out, its sizes vary"; continue; fi
  program "$name" "$work/one/$name.h" >"$work/one/main.c"
  compile "$work/one/llvm" "$work/one/main.c" "$work/one/model.o" || { failed=1; continue; }
  expected=$("$work/one/llvm") || { echo "FAIL $name: by LLVM"; failed=1; continue; }
  for sanitizer in address,undefined thread; do
    compile "$work/one/c" -fsanitize=$sanitizer -fno-sanitize-recover=all "$work/one/main.c" "$work/one/model.c" || { failed=1; continue; }
    got=$(ASAN_OPTIONS=detect_leaks=0 $prefix setarch "$(uname -m)" -R "$work/one/c" 2>"$work/log")
    status=$?
    [ $status = 0 ] && [ "$got" = "$expected" ] && continue
    echo "FAIL $name, $sanitizer: status $status, results $got, of LLVM $expected"
    head -20 "$work/log"
    failed=1
  done
  tried=$((tried + 1))
done
[ $tried -gt 0 ] || failed=1
echo "$tried workloads as C under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer: $([ $failed = 0 ] && echo passed || echo failed)"
exit $failed
