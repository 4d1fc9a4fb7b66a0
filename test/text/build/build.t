# Graphs as object files, linked into C programs by the compiler at hand.
<<< rows.vf
graph @rows(%x: f32[4,3]) {
  %p = pad %x pads=[[1,1],[0,0]]
  %a = shrink %p bounds=[[0,4],[0,3]]
  %b = shrink %p bounds=[[2,6],[0,3]]
  %s = add %a, %b
  %h = mul %s, 0.5
  return %h
}
>>>
<<< rows.c
#include <stdio.h>

#include "rows.h"

int main(void) {
  float x[4 * 3] = {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32}, h[4 * 3];
  rows_arrays arrays = {x, h};
  if (rows_run(&arrays, NULL) != 0) return 1;
  for (int i = 0; i < rows_h_SIZE0; i++) printf("%g %g %g\n", h[3 * i], h[3 * i + 1], h[3 * i + 2]);
  return rows_ARENA_BYTES;
}
>>>

== the program of the README
$ viewfold build rows.vf -o rows.o --header rows.h
$ ${CC:-cc} rows.c rows.o -o rows && ./rows
5 5.5 6
10 11 12
20 21 22
10 10.5 11

== an object refers to nothing, and shows one function
$ viewfold build rows.vf -o rows.o --header rows.h
$ nm -u rows.o
$ nm -g --defined-only rows.o | cut -d' ' -f2-
T rows_run

== the header is C99, C11, C17 and C++17
$ viewfold build rows.vf -o rows.o --header rows.h
$ for s in c99 c11 c17; do ${CC:-cc} -std=$s -Wall -Wextra -pedantic -Werror -c rows.c -o x.o || echo $s; done
$ ! command -v c++ >/dev/null || c++ -std=c++17 -x c++ -Wall -Wextra -pedantic -Werror -c rows.c -o x.o

== a program without a C library
<<< bare.c
#include "rows.h"
static float x[12], h[12];
void _start(void) {
  rows_arrays arrays = {x, h};
  long status;
  for (int i = 0; i < 12; i++) x[i] = (float)i;
  status = rows_run(&arrays, 0) || h[3] != 3 ? 1 : 0;
  __asm__ volatile("syscall" : : "a"(60L), "D"(status));
}
>>>
$ viewfold build rows.vf -o rows.o --header rows.h
$ [ "$(uname -m)" != x86_64 ] || { ${CC:-cc} -nostdlib -ffreestanding -static bare.c rows.o -o bare && ./bare; }

== two models that share a kernel link together
$ viewfold build rows.vf -o rows.o --header rows.h
$ viewfold build rows.vf -o other.o --header other.h --name other
$ ${CC:-cc} rows.c rows.o other.o -o both && ./both | tail -1
10 10.5 11

== assembler
$ viewfold build rows.vf -o rows.s --header rows.h
$ ${CC:-cc} rows.c rows.s -o rows && ./rows | head -1
5 5.5 6

== an archive, and a shared object
$ viewfold build rows.vf -o librows.a --header rows.h
$ ${CC:-cc} rows.c -L. -lrows -o rows && ./rows | head -1
5 5.5 6
$ viewfold build rows.vf -o rows.so --header rows.h
$ ${CC:-cc} rows.c ./rows.so -o rows && ./rows | head -1
5 5.5 6
$ CC=no-such-compiler viewfold build rows.vf -o rows.so
! viewfold build: the C compiler (cc, or what CC says) cannot link the shared object; for another machine CC has to be its compiler: [..]
? 3

== several targets: the object runs the code for the processor that it is on
$ viewfold build rows.vf -o rows.o --header rows.h --target x86-64-v3,x86-64,x86-64-v2
$ sed -n '1,4p' rows.h
/* Graph @rows as an object file for x86_64-unknown-linux-gnu: x86-64-v3,x86-64,x86-64-v2, made by viewfold [..].
 *
 * The object refers to nothing outside itself, allocates nothing and has no state
 * but for which of these the processor is: any number of
$ nm -u rows.o
$ nm -g --defined-only rows.o | cut -d' ' -f2-
T rows_run
$ [ "$(uname -m)" != x86_64 ] || { ${CC:-cc} rows.c rows.o -o rows && ./rows | head -1; } || echo 5 5.5 6
5 5.5 6
$ viewfold build rows.vf -o rows.o --target x86-64-v3,aarch64
! viewfold build: aarch64-unknown-linux-gnu among several targets: only processors of x86-64 are told apart where the object runs
? 3
$ viewfold build rows.vf -o rows.o --target 'x86-64-v3,x86-64-v4 features=+avx2,+fast'
! viewfold build: +fast among the features of several targets: how a processor says that it has it is not known
? 3
$ viewfold build rows.vf -o rows.o --target x86-64-v3,,x86-64
! viewfold build: an empty target in the list 'x86-64-v3,,x86-64'
? 2

== fma of f64 without the instruction: rounded once
<<< once.vf
graph @once(%x: f64[2], %y: f64[2], %z: f64[2]) {
  %r = fma %x, %y, %z
  return %r
}
>>>
<<< once.c
#include <stdio.h>

#include "once.h"

int main(void) {
  double x[2] = {1 + 0x1p-30, 0x1p-600}, y[2] = {1 - 0x1p-30, 0x1p-500}, z[2] = {-1, 0x1p-1074}, r[2];
  once_arrays arrays = {x, y, z, r};
  if (once_run(&arrays, NULL) != 0) return 1;
  printf("%a %a\n", r[0], r[1]);
}
>>>
$ viewfold build once.vf -o once.o --header once.h --target x86-64-v2
$ nm -u once.o
$ [ "$(uname -m)" != x86_64 ] || { ${CC:-cc} once.c once.o -o once && ./once; } || echo "-0x1p-60 0x0.0000000000001p-1022"
-0x1p-60 0x0.0000000000001p-1022

== sizes that are variables
<<< sums.vf
graph @sums(%x: f32[n=2..1024:2,4]) {
  %t = permute %x order=[1,0]
  %r = reshape %t shape=[n//2,8]
  %s = sum %r axes=[1]
  %m = stored %s
  %y = cumsum %m axis=0
  return %y, %r
}
>>>
<<< sums.c
#include <stdio.h>
#include <stdlib.h>

#include "sums.h"

static void try(int64_t n) {
  float x[24], y[3], r[24];
  sums_arrays arrays = {x, y, r};
  sums_sizes sizes = {n};
  sums_dims dims;
  int64_t bytes = sums_arena_bytes(&sizes);
  void *arena = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
  for (int i = 0; i < 24; i++) x[i] = (float)i;
  int status = sums_run(&arrays, &sizes, arena);
  free(arena);
  printf("n=%d: %d", (int)n, status);
  if (sums_shapes(&sizes, &dims) == 0)
    printf(" y[%d] = ... %g, r[%d,%d]", (int)dims.y[0], y[dims.y[0] - 1], (int)dims.r[0], (int)dims.r[1]);
  printf("\n");
}

int main(void) {
  try(6);
  try(2);
  try(5);
  try(1026);
}
>>>
$ viewfold build sums.vf -o sums.o --header sums.h && ${CC:-cc} -Wall -Wextra -Werror sums.c sums.o -o sums && ./sums
n=6: 0 y[3] = ... 276, r[3,8]
n=2: 0 y[1] = ... 28, r[1,8]
n=5: 1
n=1026: 1
$ nm -u sums.o
$ nm -g --defined-only sums.o | cut -d' ' -f3 | sort
sums_arena_bytes
sums_run
sums_shapes

== an index out of its axis
<<< pick.vf
graph @pick(%x: f32[8], %i: i32[2]) {
  %y = gather %x, %i axis=0
  return %y
}
>>>
<<< pick.c
#include <stdio.h>

#include "pick.h"

int main(void) {
  float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[2];
  int32_t i[2] = {7, -8};
  pick_arrays arrays = {x, i, y};
  int good = pick_run(&arrays, NULL);
  printf("%d %g %g\n", good, y[0], y[1]);
  i[1] = 8;
  printf("%d\n", pick_run(&arrays, NULL));
}
>>>
$ viewfold build pick.vf -o pick.o --header pick.h && ${CC:-cc} pick.c pick.o -o pick && ./pick
0 7 0
7

== a reference is changed in place
<<< count.vf
graph @count(%a: ref f32[4], %by: f32[]) {
  %a = add %a, %by
  return
}
>>>
<<< count.c
#include <stdio.h>

#include "count.h"

int main(void) {
  float a[4] = {1, 2, 3, 4}, by = 10;
  static char arena[count_ARENA_BYTES + 1];
  count_arrays arrays = {a, &by};
  for (int i = 0; i < 3; i++)
    if (count_run(&arrays, arena)) return 1;
  printf("%g %g %g %g\n", a[0], a[1], a[2], a[3]);
}
>>>
$ viewfold build count.vf -o count.o --header count.h && ${CC:-cc} count.c count.o -o count && ./count
31 32 33 34
$ grep 'a;' count.h
  float *a; /* input and output f32[4], changed in place */

== loops and conditions
<<< collatz.vf
graph @more(%n: i32[], %steps: i32[]) {
  %c = ne %n, 1
  return %c
}
graph @half(%n: i32[]) {
  %h = floordiv %n, 2
  return %h
}
graph @triple(%n: i32[]) {
  %t = mul %n, 3
  %u = add %t, 1
  return %u
}
graph @step(%n: i32[], %steps: i32[]) {
  %r = mod %n, 2
  %odd = eq %r, 1
  %m = cond %odd, %n then=@triple else=@half
  %s = add %steps, 1
  return %m, %s
}
graph @collatz(%n: i32[]) {
  %zero = mul %n, 0
  %one, %steps = while_loop %n, %zero while=@more do=@step
  return %steps
}
>>>
<<< collatz.c
#include <stdio.h>

#include "collatz.h"

int main(void) {
  int32_t n, steps;
  static char arena[collatz_ARENA_BYTES + 1];
  collatz_arrays arrays = {&n, &steps};
  for (n = 1; n <= 27; n += 13) printf("%d: %d\n", (int)n, collatz_run(&arrays, arena) ? -1 : (int)steps);
}
>>>
$ viewfold build collatz.vf -o collatz.o --header collatz.h && ${CC:-cc} collatz.c collatz.o -o collatz && ./collatz
1: 0
14: 17
27: 111

== names that C has for itself
<<< words.vf
graph @words(%int: f32[2], %run: f32[2], %7: f32[2]) {
  %s = add %int, %run
  %while = add %s, %7
  return %while
}
>>>
$ viewfold build words.vf -o words.o --header words.h && grep ';$\|; /' words.h | sed 's,/[*].*,,; s, *$,,'
  const float *int_;
  const float *run_;
  const float *v7;
  float *while_;
} words_arrays;
int words_run(const words_arrays *arrays, void *arena);

== what cannot be built
$ viewfold build rows.vf -o rows.obj
! viewfold build: -o rows.obj: the name must end with .o for an object, .a for an archive, .so for a shared object, .s for assembler or .c for C
! Try 'viewfold build --help'.
? 2
$ viewfold build rows.vf
! viewfold build: -o FILE is missing: where the object goes
! Try 'viewfold build --help'.
? 2
$ viewfold build rows.vf -o rows.o --name 7rows
! viewfold build: --name 7rows: a C identifier is needed, of letters, digits and _
! Try 'viewfold build --help'.
? 2
$ viewfold build rows.vf -o rows.o --target x86-64-v9
! viewfold build: target: 'x86-64-v9' is not a setting; use name=value with a name among [..]; or first a processor: native, x86-64, [..]
? 2
$ viewfold build rows.vf -o rows.o --target triple=s390x-linux-gnu
! viewfold build: compile: s390x-linux-gnu is big-endian; code is made for little-endian machines with pointers of 64 bits
? 3
$ viewfold build rows.vf -o rows.o --target triple=armv7-linux-gnueabi
! viewfold build: compile: armv7-linux-gnueabi has pointers of 32 bits; code is made for little-endian machines with pointers of 64 bits
? 3
<<< divided.vf
mesh @m [x=2]
graph @divided(%x: f32[4] @m[x]) {
  %y = mul %x, 2.0
  return %y
}
>>>
$ viewfold build divided.vf -o divided.o
! viewfold build: graph @divided is divided among the 2 devices of a mesh, and an object runs on one device; leave out the mesh and what is divided among its axes
? 3
$ sed 's/x=2/x=1/' divided.vf > one.vf; viewfold build one.vf -o one.o && nm -u one.o

== a custom operation is a function of the caller
<<< shown.vf
graph @shown(%x: f32[2]) {
  %y = print %x text="x"
  %z = mul %y, 2.0
  return %z
}
>>>
<<< shown.c
#include <stdio.h>

#include "shown.h"

static int show(void *user, const shown_array *results, const shown_array *operands, const void *attributes) {
  const float *x = (const float *)operands->data;
  float *y = (float *)results->data;
  for (int64_t i = 0; i < operands->elements; i++) y[i] = x[i];
  printf("%s: %s[%d] %g %g\n", (const char *)user, (const char *)attributes, (int)operands->dims[0], x[0], x[1]);
  return x[0] < 0;
}

int main(void) {
  float x[2] = {3, 4}, z[2];
  static char name[] = "shown";
  shown_arrays arrays = {x, z};
  shown_host host = {name, NULL, show};
  int good = shown_run(&arrays, NULL, &host);
  printf("%d %g %g\n", good, z[0], z[1]);
  x[0] = -3;
  printf("%d\n", shown_run(&arrays, NULL, &host));
}
>>>
$ viewfold build shown.vf -o shown.o --header shown.h && ${CC:-cc} -Wall -Wextra -Werror shown.c shown.o -o shown && ./shown
shown: x[2] 3 4
0 6 8
shown: x[2] -3 4
6
$ nm -u shown.o

== weights in the object, or in a file beside it
<<< head.py.sh
awk 'BEGIN {
  for (i = 0; i < 300; i++) row = row (i ? "," : "") (i % 7 - 3)
  for (i = 0; i < 4; i++) all = all (i ? "," : "") "[" row "]"
  print "[" all "]" }'
>>>
<<< copy.vf
graph @copy(%w: f32[4,300]) {
  %y = mul %w, 0.5
  return %y
}
>>>
<<< head.vf
graph @head(%x: f32[2,4]) {
  %w = data file="w.npy"
  %y = matmul %x, %w
  %s = sum %y axes=[1]
  return %s
}
>>>
<<< head.c
#include <stdio.h>

#include "head.h"

int main(void) {
  float x[8] = {1, 2, 3, 4, -1, 0, 1, 2}, s[2];
  static char arena[head_ARENA_BYTES + 1];
  head_arrays arrays = {x, s};
#ifdef head_WEIGHT_BYTES
  static _Alignas(64) char weights[head_WEIGHT_BYTES];
  FILE *file = fopen("head.bin", "rb");
  if (fread(weights, 1, sizeof weights, file) != sizeof weights || fgetc(file) != EOF) return 1;
  if (head_run(&arrays, arena, weights)) return 2;
#else
  if (head_run(&arrays, arena)) return 2;
#endif
  printf("%g %g\n", s[0], s[1]);
  return 0;
}
>>>
$ viewfold run copy.vf --in "w=$(sh head.py.sh)" --out y=w.npy
$ viewfold build head.vf -o head.o --header head.h && ${CC:-cc} -Wall -Werror head.c head.o -o head && ./head
-15 -3
$ viewfold build head.vf -o head.o --header head.h --weights head.bin && ${CC:-cc} -Wall -Werror head.c head.o -o head && ./head
-15 -3
$ nm -u head.o
$ [ $(wc -c < head.o) -lt 4800 ] || wc -c head.o head.bin

== for AArch64, an element that is loaded for one lane is a load of its own: LLVM before 20 crashes otherwise
<<< thirds.vf
graph @thirds(%x: i32[2,3,3]) {
  %y = rearrange %x from="(u=2 h)f(x=3w)" to="x(wuh)f"
  return %y
}
>>>
$ viewfold build thirds.vf -o thirds.o --target aarch64 && nm -u thirds.o
