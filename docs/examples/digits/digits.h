/* What the programs that learn to read digits share: the data, random orders, progress, and the curve of the
 * loss. */
#ifndef DIGITS_H
#define DIGITS_H

#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <viewfold.h>

enum {
  DIGITS = 1797,
  SIDE = 8,
  PIXELS = SIDE * SIDE,
  CLASSES = 10,
  TRAINED = 1437,
  HELD_OUT = DIGITS - TRAINED
};

typedef struct digits {
  float image[DIGITS][PIXELS]; /* 0 (paper) to 1 (ink), row by row */
  int32_t label[DIGITS];
} digits;

/* Read the image of digits/README.md. False, after saying why, when that cannot be. */
static inline bool digits_read(const char *path, digits *d) {
  unsigned char row[PIXELS + 1];
  int columns = 0, rows = 0, most = 0;
  FILE *file = fopen(path, "rb");
  bool good = file && fscanf(file, "P5 %d %d %d", &columns, &rows, &most) == 3 && fgetc(file) != EOF &&
              columns == PIXELS + 1 && rows == DIGITS && most == 16;
  for (int i = 0; i < DIGITS && good; i++) {
    good = fread(row, 1, sizeof row, file) == sizeof row && row[PIXELS] < CLASSES;
    for (int k = 0; k < PIXELS && good; k++) d->image[i][k] = row[k] / 16.0f;
    if (good) d->label[i] = row[PIXELS];
  }
  if (file) fclose(file);
  if (!good) fprintf(stderr, "%s: not the %d digits of docs/examples/digits/digits.pgm\n", path, DIGITS);
  return good;
}

/* A program that draws `count` random numbers from a seed, which each run supplies. */
static inline vf_program *digits_shuffler(vf_context *context, int count, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "shuffle", error);
  vf_value seed = vf_input(graph, "seed", VF_U64, VF_ALL);
  vf_output(graph, "keys", vf_uniform(seed, VF_F64, VF_LIST(count), 0, 1));
  vf_program *program = vf_compile(graph, error);
  vf_graph_destroy(graph);
  return program;
}

typedef struct digits_card {
  double key;
  int32_t digit;
} digits_card;

static inline int digits_by_key(const void *a, const void *b) {
  double x = ((const digits_card *)a)->key, y = ((const digits_card *)b)->key;
  return (x > y) - (x < y);
}

/* Put order[0..count), count <= DIGITS, in the order of random keys: the same one for the same seed. */
static inline bool digits_shuffle(const vf_program *shuffler, uint64_t seed, int32_t *order, int count,
                                  vf_error *error) {
  static double keys[DIGITS];
  static digits_card cards[DIGITS];
  if (vf_program_run(shuffler, (const void *[]){&seed}, (void *[]){keys}, NULL, error) != VF_OK) return false;
  for (int i = 0; i < count; i++) cards[i] = (digits_card){keys[i], order[i]};
  qsort(cards, (size_t)count, sizeof *cards, digits_by_key);
  for (int i = 0; i < count; i++) order[i] = cards[i].digit;
  return true;
}

/* The mean of -log p(label), where scores [n, 10] are log p but for a constant in each row, and labels are
 * [n]. */
static inline vf_value digits_loss(vf_value scores, vf_value labels) {
  vf_value classes = vf_iota(scores.graph, VF_I32, VF_LIST(CLASSES), 0);
  vf_value is_label = vf_eq(vf_unsqueeze(labels, 1), classes);
  vf_value own = vf_where(is_label, vf_log_softmax(scores, 1), vf_number(scores.graph, 0));
  return vf_neg(vf_mean(vf_sum(own, VF_LIST(1), false), VF_ALL, false));
}

/* One line on a terminal, overwritten each time; nothing elsewhere. */
static inline void digits_progress(int step, int steps, double loss) {
  if (!isatty(STDERR_FILENO)) return;
  fprintf(stderr, "\rstep %d of %d, loss %.4f ", step, steps, loss);
  if (step == steps) fprintf(stderr, "\n");
}

/* The loss after each step, which is > 0, as an SVG picture: the vertical axis is logarithmic, from 10 to
 * 0.001. */
static inline bool digits_draw(const char *path, const float *loss, int steps) {
  enum { WIDTH = 720, HEIGHT = 400, DECADE = HEIGHT / 4 };
  FILE *file = fopen(path, "w");
  if (!file) return fprintf(stderr, "%s: cannot be written\n", path), false;
  fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-50 -10 %d %d\" font-size=\"12\">\n",
          WIDTH + 60, HEIGHT + 40);
  for (int i = 0; i <= 4; i++)
    fprintf(file, "<path d=\"M0 %dH%d\" stroke=\"#ccc\"/><text x=\"-45\" y=\"%d\">%g</text>\n", i * DECADE,
            WIDTH, i * DECADE + 4, pow(10, 1 - i));
  fprintf(file, "<text x=\"%d\" y=\"%d\">%d steps</text>\n<polyline fill=\"none\" stroke=\"#06c\" points=\"",
          WIDTH - 60, HEIGHT + 20, steps);
  for (int i = 0; i < steps; i++)
    fprintf(file, "%.1f,%.1f ", (double)WIDTH * i / steps,
            (1 - log10(loss[i] > 0.001f ? loss[i] : 0.001f)) * DECADE);
  fprintf(file, "\"/>\n</svg>\n");
  return fclose(file) == 0;
}

#endif
