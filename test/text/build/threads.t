# Loops of objects shared by threads of the caller.
<<< rows.vf
graph @rows(%x: f32[n=1..512,256], %w: f32[256,64]) {
  %m = matmul %x, %w
  %l = layer_norm %x axis=-1 eps=1e-5
  %s = softmax %l axis=1
  %t = matmul %s, %w
  %y = add %m, %t
  return %y, %s
}
>>>
<<< rows.c
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

enum { ROWS = 512, MOST = 8 };

typedef struct part {
  pthread_t thread;
  void (*body)(void *argument, int64_t worker, int64_t begin, int64_t end);
  void *argument;
  int64_t worker, begin, end;
} part;

static int workers, loops;

static void *run_part(void *given) {
  part *p = given;
  p->body(p->argument, p->worker, p->begin, p->end);
  return NULL;
}

static void parallel_for(void *user, void (*body)(void *argument, int64_t worker, int64_t begin, int64_t end),
                         void *argument, int64_t count, int64_t grain) {
  part parts[MOST];
  int64_t each = count / workers > grain ? count / workers : grain, at = 0;
  int n = 0;
  for (; at < count && n < workers; n++) {
    int64_t end = n == workers - 1 || count - at < 2 * each ? count : at + each;
    parts[n] = (part){0, body, argument, n, at, end};
    at = end;
  }
  for (int i = 0; i < n; i++) pthread_create(&parts[i].thread, NULL, run_part, &parts[i]);
  for (int i = 0; i < n; i++) pthread_join(parts[i].thread, NULL);
  ++*(int *)user;
}

static float x[ROWS * 256], w[256 * 64], y[ROWS * 64], s[ROWS * 256], y1[ROWS * 64], s1[ROWS * 256];

static int run(int64_t n, int count) {
  rows_arrays arrays = {x, w, y, s};
  rows_sizes sizes = {n};
  rows_host host = {&loops, parallel_for};
  size_t bytes = (size_t)rows_arena_bytes(&sizes) + (size_t)(count ? count - 1 : 0) * rows_WORKER_BYTES;
  char *arena = malloc(bytes + 64);
  workers = count, loops = 0;
  memset(arena + bytes, 77, 64);
  int status = rows_run(&arrays, &sizes, arena, count ? &host : NULL);
  for (int i = 0; i < 64; i++)
    if (arena[bytes + (size_t)i] != 77) return 99;
  free(arena);
  return status;
}

int main(void) {
  for (int i = 0; i < ROWS * 256; i++) x[i] = (float)(i * 7 % 31) / 16 - 1;
  for (int i = 0; i < 256 * 64; i++) w[i] = (float)(i * 5 % 23) / 16 - 1;
  for (int64_t n = 512; n > 1; n /= 16) {
    if (run(n, 0)) return 1;
    memcpy(y1, y, sizeof y), memcpy(s1, s, sizeof s);
    for (int count = 1; count <= MOST; count += 3) {
      memset(y, 0, sizeof y), memset(s, 0, sizeof s);
      if (run(n, count)) return 2;
      int same = !memcmp(y, y1, (size_t)n * 64 * 4) && !memcmp(s, s1, (size_t)n * 256 * 4);
      printf("n=%d, %d workers: %s, %s\n", (int)n, count, loops ? "shared" : "not shared", same ? "same" : "other bits");
    }
  }
  rows_arrays arrays = {x, w, y, s};
  rows_sizes sizes = {2};
  rows_host none = {NULL, NULL};
  char *arena = malloc((size_t)rows_arena_bytes(&sizes));
  printf("without: %d\n", rows_run(&arrays, &sizes, arena, &none));
  free(arena);
  return 0;
}
>>>

== the same bits for any number of threads
$ viewfold build rows.vf -o rows.o --header rows.h --threads
$ ${CC:-cc} -Wall -Wextra -Werror -pthread rows.c rows.o -o rows && ./rows
n=512, 1 workers: shared, same
n=512, 4 workers: shared, same
n=512, 7 workers: shared, same
n=32, 1 workers: shared, same
n=32, 4 workers: shared, same
n=32, 7 workers: shared, same
n=2, 1 workers: not shared, same
n=2, 4 workers: not shared, same
n=2, 7 workers: not shared, same
without: 0
$ nm -u rows.o

== without --threads the function has no such parameter
$ viewfold build rows.vf -o rows.o --header rows.h && grep -c -e host -e WORKER rows.h
0
? 1

== the threads of the library, without its other parts
<<< pool.c
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "viewfold_pool.h"

enum { ROWS = 512 };
static float x[ROWS * 256], w[256 * 64], y[ROWS * 64], s[ROWS * 256], y1[ROWS * 64], s1[ROWS * 256];

int main(void) {
  vf_pool *pool = vf_pool_create(3);
  rows_host host = {pool, vf_pool_parallel_for};
  rows_arrays alone = {x, w, y1, s1}, shared = {x, w, y, s};
  rows_sizes sizes = {ROWS};
  void *arena = malloc((size_t)rows_arena_bytes(&sizes) + (size_t)(vf_pool_threads(pool) - 1) * rows_WORKER_BYTES);
  for (int i = 0; i < ROWS * 256; i++) x[i] = (float)(i * 7 % 31) / 16 - 1;
  for (int i = 0; i < 256 * 64; i++) w[i] = (float)(i * 5 % 23) / 16 - 1;
  int status = rows_run(&alone, &sizes, arena, NULL);
  for (int i = 0; i < 100 && !status; i++) status = rows_run(&shared, &sizes, arena, &host);
  printf("%d %s\n", status, !memcmp(y, y1, sizeof y) && !memcmp(s, s1, sizeof s) ? "same" : "other bits");
  vf_pool_destroy(pool);
  free(arena);
}
>>>
$ viewfold build rows.vf -o rows.o --header rows.h --threads
$ ${CC:-cc} -Wall -Wextra -Werror -I"$TEST_ROOT/frontend" -pthread pool.c rows.o "$(dirname "$(command -v viewfold)")/libviewfold-pool.a" -o rows && ./rows
0 same
$ nm -u rows | grep -c vf_
0
? 1
