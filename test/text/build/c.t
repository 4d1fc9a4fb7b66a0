# Graphs as C files: the functions of the object, with the same bits, by compilers with vector extensions and without.
<<< layer.vf
graph @step(%h: f32[5], %x: f32[5]) {
  %a = mul %h, 0.5
  %y = add %a, %x
  return %y, %y
}
graph @layer(%x: f32[n=1..64,5], %w: f16[5,33], %i: i32[n]) {
  %v = cast %w dtype=f32
  %m = matmul %x, %v
  %e = exp %m
  %s = sum %e axes=[1]
  %g = gather %x, %i axis=0
  %z = const dtype=f32 value=0
  %h = expand %z shape=[5]
  %last, %all = scan %h, %g do=@step carries=1
  return %s, %all
}
>>>
<<< layer.c
#include <stdio.h>
#include <stdlib.h>

#include "layer.h"

int main(int argc, char **argv) {
  float x[50], s[10], all[50];
  uint16_t w[165];
  int32_t i[10];
  layer_arrays arrays = {x, w, i, s, all};
  layer_sizes sizes = {10};
  for (int k = 0; k < 50; k++) x[k] = (float)k / 64 - 1;
  for (int k = 0; k < 165; k++) w[k] = (uint16_t)(0x2c00 + 37 * k);
  for (int k = 0; k < 10; k++) i[k] = (k * 7 + 3) % 10;
  if (argc > 1) i[4] = atoi(argv[1]);
  void *arena = malloc((size_t)layer_arena_bytes(&sizes) + 64);
  int status = layer_run(&arrays, &sizes, arena);
  free(arena);
  if (status) return status;
  fwrite(s, sizeof s, 1, stdout), fwrite(all, sizeof all, 1, stdout);
  sizes.n = 65;
  return layer_run(&arrays, &sizes, NULL) == 1 ? 0 : 1;
}
>>>
<<< rounded.vf
graph @rounded(%x: f32[1], %z: f64[1]) {
  %a = floor %x
  %b = ceil %x
  %c = trunc %x
  %d = floor %z
  %e = ceil %z
  %f = trunc %z
  return %a, %b, %c, %d, %e, %f
}
>>>
<<< compile
viewfold build layer.vf --graph layer -o model.o --header layer.h && viewfold build layer.vf --graph layer -o model.c
${CC:-cc} layer.c model.o -o object && ./object > bits || exit 1
by() { # COMPILER OPTION...
  command -v $1 >/dev/null || return
  "$@" -std=c11 -Wall -Wextra -pedantic -Werror -ffp-contract=off -c model.c -o c.o 2>said || cat said
  ${CC:-cc} layer.c c.o -o c -lm && ./c | cmp - bits || echo "$* differs"
  ./c 10 >/dev/null; [ $? = 7 ] || echo "$*: status"
}
by clang -O2 -march=native
by gcc -O1 -DVF_SCALAR
[ "${TEST_LEVEL:-test}" = test ] && exit 0 # `without` has another one
by gcc -O2
by clang -O2
by gcc -O2 -march=native
by clang -O1 -DVF_SCALAR
>>>

<<< without
mkdir bare && cp "$(command -v viewfold)" bare/alone
for o in o c so; do bare/alone build layer.vf --graph layer -o bare/model.$o --header layer.h || exit 1; done
nm -u bare/model.o
viewfold build layer.vf --graph layer -o model.o --header layer.h && ${CC:-cc} layer.c model.o -o object && ./object > bits
for o in o c; do ${CC:-cc} -O2 -ffp-contract=off layer.c bare/model.$o -lm -o bare/$o 2>said && bare/$o | cmp - bits || cat said; done
>>>

== compilers accept it without a warning, and results have the same bits; sizes and indices are checked
$ sh compile

== without LLVM the C compiler makes objects from it; they need nothing else
$ sh without
$ bare/alone build layer.vf --graph layer -o model.s || bare/alone build layer.vf --graph layer -o model.o --target x86-64,x86-64-v3
! viewfold build: assembler is made by the code generator viewfold-llvm.so, which is missing; install it beside the library, or ask for C (a name that ends with .c; in C: the option c of vf_build)
! viewfold build: objects for several targets are made by the code generator viewfold-llvm.so, which is missing; install it beside the library, or ask for C (a name that ends with .c; in C: the option c of vf_build)
? 3
$ bare/alone build layer.vf --graph layer -o model.o --target "triple=$([ "$(uname -m)" = aarch64 ] && echo x86_64 || echo aarch64)-linux-gnu"
! viewfold build: objects for another architecture are made by the code generator viewfold-llvm.so, which is missing; install it beside the library, or ask for C (a name that ends with .c; in C: the option c of vf_build)
? 3

== the functions are those of the object, and nothing else is public
$ viewfold build layer.vf --graph layer -o model.o && viewfold build layer.vf --graph layer -o model.c
$ ${CC:-cc} -c model.c -o c.o 2>said
$ for o in model.o c.o; do nm -g --defined-only $o | cut -d' ' -f3 | sort | paste -s -d' '; done
layer_arena_bytes layer_run layer_shapes
layer_arena_bytes layer_run layer_shapes

== several targets need an object
$ viewfold build layer.vf --graph layer -o model.c --target x86-64-v2,x86-64-v4
! viewfold build: a C file is compiled for one processor; give one target, or build an object
? 3

== roundings call nothing, also where the compiler saves space
$ viewfold build rounded.vf -o rounded.c
$ on=; [ "$(uname -m)" != x86_64 ] || on=-march=x86-64-v2; ${CC:-cc} -std=c11 -Os $on -ffp-contract=off -c rounded.c && nm -u rounded.o
