/* Feeds mutated inputs to a fuzz target, which defines LLVMFuzzerTestOneInput as for libFuzzer; a crash or a
 * sanitizer's report is the finding. Needs no special compiler.
 *
 *   TARGET FILE...                                              try each file once
 *   TARGET --seconds N --seed S --input KEPT [FILE...]          mutate the files (or the empty input) for N
 * seconds
 *
 * The input being tried is in KEPT, a shared mapping, so that it survives the crash. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "test/lib/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 1 << 16, SEEDS = 4096 };

static struct {
  uint8_t *data;
  size_t size;
} seeds[SEEDS];
static size_t seed_count;
static uint64_t state;

static uint64_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}
static size_t below(size_t limit) { return limit ? next() % limit : 0; }

static int load(const char *path) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = malloc(LIMIT);
  if (!file || !data || seed_count == SEEDS) {
    if (file) fclose(file);
    free(data);
    return -1;
  }
  size_t size = fread(data, 1, LIMIT, file);
  fclose(file);
  seeds[seed_count].data = data;
  seeds[seed_count++].size = size;
  return 0;
}

static size_t insert(uint8_t *data, size_t size, size_t at, const uint8_t *from, size_t count) {
  if (count > LIMIT - size) count = LIMIT - size;
  memmove(data + at + count, data + at, size - at);
  memmove(data + at, from, count);
  return size + count;
}

/* One change: a byte, a bit, a range removed, repeated or taken from another input, a number at an edge. */
static size_t mutate(uint8_t *data, size_t size) {
  static const char *const edges[] = {
      "0", "-1", "1", "2147483648", "9223372036854775807", "9223372036854775808", "1e400",
      "%", "(",  "[", ","};
  static uint8_t chunk[LIMIT];
  size_t at = below(size + 1), count = 1 + below(size / 4 + 8);
  switch (below(7)) {
  case 0:
    if (size) data[below(size)] = (uint8_t)next();
    return size;
  case 1:
    if (size) data[below(size)] ^= (uint8_t)(1u << below(8));
    return size;
  case 2:
    if (count > size - at) count = size - at;
    memmove(data + at, data + at + count, size - at - count);
    return size - count;
  case 3:
    if (count > size - at) count = size - at;
    memcpy(chunk, data + at, count);
    return insert(data, size, below(size + 1), chunk, count);
  case 4: {
    size_t other = below(seed_count), from = below(seeds[other].size + 1);
    if (count > seeds[other].size - from) count = seeds[other].size - from;
    return insert(data, size, at, seeds[other].data + from, count);
  }
  case 5: {
    const char *edge = edges[below(sizeof edges / sizeof *edges)];
    return insert(data, size, at, (const uint8_t *)edge, strlen(edge));
  }
  default: chunk[0] = (uint8_t)(32 + below(95)); return insert(data, size, at, chunk, 1);
  }
}

static int campaign(double seconds, const char *kept) {
  struct timespec begin, now;
  uint64_t runs = 0;
  int fd = open(kept, O_RDWR | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || ftruncate(fd, LIMIT)) return perror(kept), 2;
  uint8_t *input = mmap(NULL, LIMIT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (input == MAP_FAILED) return perror(kept), 2;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    size_t from = below(seed_count), size = seeds[from].size;
    memcpy(input, seeds[from].data, size);
    for (size_t changes = 1 + below(8); changes; changes--) size = mutate(input, size);
    if (ftruncate(fd, (off_t)size)) return perror(kept), 2; /* the file holds exactly the input */
    uint8_t *exact = malloc(size ? size : 1);               /* so that a sanitizer sees a read past its end */
    if (!exact) return 2;
    if (size) memcpy(exact, input, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    if (ftruncate(fd, LIMIT)) return perror(kept), 2;
    runs++;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
  printf("%llu inputs from %zu seeds\n", (unsigned long long)runs, seed_count);
  munmap(input, LIMIT);
  close(fd);
  unlink(kept);
  return 0;
}

int main(int argc, char **argv) {
  static uint8_t nothing[1];
  double seconds = 0;
  const char *kept = NULL;
  int result = 0, i = OPTIONS_READ(argc, argv, OPTION("--seconds", &seconds), OPTION("--seed", &state),
                                   OPTION("--input", &kept));
  state = state * 2 + 1; /* never 0 */
  for (; i < argc; i++)
    if (load(argv[i]) && !kept) fprintf(stderr, "%s: cannot be read\n", argv[i]), result = 2;
  if (!kept) {
    for (size_t k = 0; k < seed_count; k++) LLVMFuzzerTestOneInput(seeds[k].data, seeds[k].size);
  } else {
    if (!seed_count) seeds[seed_count++].data = nothing;
    result = campaign(seconds, kept);
  }
  for (size_t k = 0; k < seed_count; k++)
    if (seeds[k].data != nothing) free(seeds[k].data);
  return result;
}
