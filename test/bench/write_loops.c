/* The writes of writes.py as loops in C, each for its sizes alone, and what times calls without Python
 * between them. Compiled by writes.py: cc -O3 -march=native -shared. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { N = 16384 /* rows and columns of the array */, TILE = 16 };
#define AT(i, j) a[(size_t)(i)*N + (j)]

void write_block(float *restrict a, const float *restrict v) {
  for (size_t i = 0; i < 64; i++)
    for (size_t j = 0; j < 64; j++) AT(100 + i, 256 + j) = v[i * 64 + j];
}

void write_block_add(float *restrict a, const float *restrict v) {
  for (size_t i = 0; i < 64; i++)
    for (size_t j = 0; j < 64; j++) AT(100 + i, 256 + j) += v[i * 64 + j];
}

void write_row(float *restrict a, const float *restrict v) {
  for (size_t j = 0; j < N; j++) AT(5000, j) = v[j];
}

void write_slab(float *restrict a, const float *restrict v) {
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < 64; j++) AT(i, 128 + j) += v[i * 64 + j];
}

void write_strided(float *restrict a, const float *restrict v) {
  for (size_t i = 0; i < 1024; i++)
    for (size_t j = 0; j < 1024; j++) AT(100 + 2 * i, 256 + 2 * j) += v[i * 1024 + j];
}

void write_transposed(float *restrict a, const float *restrict v) {
  for (size_t i = 0; i < 1024; i += TILE)
    for (size_t j = 0; j < 1024; j += TILE)
      for (size_t k = 0; k < TILE; k++)
        for (size_t l = 0; l < TILE; l++) AT(100 + i + k, 256 + j + l) = v[(j + l) * 1024 + i + k];
}

void write_flipped(float *restrict a, const float *restrict v) {
  for (size_t i = 0; i < 4096; i++)
    for (size_t j = 0; j < 1024; j++) AT(4195 - i, 1279 - j) += v[i * 1024 + j];
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of a call, of `calls` one after the other. */
double seconds_of_loop(void (*loop)(float *, const float *), float *a, const float *v, int calls) {
  double start = now();
  for (int k = 0; k < calls; k++) loop(a, v);
  return (now() - start) / calls;
}

/* The same of a program. `run` is vf_program_run; negative where a run fails. outputs may be NULL. */
double seconds_of_program(int (*run)(const void *, const void *const *, void *const *, const int64_t *,
                                     void *),
                          const void *program, const void *const *inputs, void *const *outputs, int calls) {
  double start = now();
  for (int k = 0; k < calls; k++)
    if (run(program, inputs, outputs, NULL, NULL)) return -1;
  return (now() - start) / calls;
}

/* A vf_allocator that counts how often it is called, in *user. */
void *counting_allocator(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)old_size;
  ++*(uint64_t *)user;
  if (new_size) return realloc(ptr, new_size);
  free(ptr);
  return NULL;
}
