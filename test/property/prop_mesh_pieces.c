/* Pending sums that are joined of pieces, on meshes whose latency and bandwidth are known: what each device
 * holds of the results is its part of what one device computes, bit for bit, however pieces are sent.
 *
 *   prop_mesh_pieces --seed S --count N
 *   prop_mesh_pieces --case SEED        one graph again, by the seed in its report */
#include "frontend/text/reader.h"
#include "test/lib/cases.h"
#include "test/lib/on_mesh.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Latencies of picoseconds: computing a piece of a few elements takes as long as sending it. */
static const char *const meshes[] = {
    "[x=2] latency=[1e-12] bandwidth=[1e12]", "[x=2] latency=[2e-10] bandwidth=[1e11]",
    "[x=4] latency=[1e-12] bandwidth=[1e11]", "[x=8] latency=[1e-11] bandwidth=[1e12]",
    "[x=2,y=2] latency=[1e-12,1e-11] bandwidth=[1e12,1e11]"};

enum { ROWS = 8, MOST_PARTS = 8, MOST_LENGTH = 5, MOST_COLUMNS = 3, TEXT = 8192 };

static long pieces, exchanges, joined;
static bool show;

typedef struct writer {
  uint64_t state;
  char text[TEXT];
  int length, rank, axis; /* of the sums; which is cut */
  int columns;            /* of the other axis */
  int names;
} writer;

#define PUT(w, ...)                                                                                          \
  ((w)->length += snprintf((w)->text + (w)->length, (size_t)(TEXT - (w)->length), __VA_ARGS__))
static int pick(writer *w, int lo, int hi) {
  return lo + (int)(random_next(&w->state) % (uint64_t)(hi - lo + 1));
}

/* A sum over the divided axis of so many elements along the axis that is cut, after a few operations. */
static int part(writer *w, int length, int total) {
  int from = pick(w, 0, total - length), at = w->names++;
  if (w->rank == 1) PUT(w, "  %%s%d = shrink %%a bounds=[[0,%d],[%d,%d]]\n", at, ROWS, from, from + length);
  else if (w->axis)
    PUT(w, "  %%s%d = shrink %%a bounds=[[0,%d],[0,%d],[%d,%d]]\n", at, ROWS, w->columns, from,
        from + length);
  else
    PUT(w, "  %%s%d = shrink %%a bounds=[[0,%d],[%d,%d],[0,%d]]\n", at, ROWS, from, from + length,
        w->columns);
  for (int i = pick(w, 0, 4); i > 0; i--, at = w->names++)
    PUT(w, "  %%s%d = mul %%s%d, %d.0\n", w->names, at, pick(w, -2, 3));
  PUT(w, "  %%s%d = sum %%s%d axes=[0]\n", w->names, at);
  return w->names++;
}

/* Joins parts that are so long: one after the other, or padded to the whole, where they may overlap. */
static int join(writer *w, const int *lengths, int count, int total) {
  int names[MOST_PARTS], sum = 0, all;
  for (int i = 0; i < count; i++) names[i] = part(w, lengths[i], total), sum += lengths[i];
  if (count > 1 && pick(w, 0, 1)) {
    PUT(w, "  %%s%d = concat ", w->names);
    for (int i = 0; i < count; i++) PUT(w, "%s%%s%d", i ? ", " : "", names[i]);
    PUT(w, " axis=%d\n", w->axis);
    return w->names++;
  }
  all = -1;
  for (int i = 0, at = 0; i < count; at += lengths[i++]) {
    int before = pick(w, 0, 3) ? at : pick(w, 0, sum - lengths[i]), padded = w->names++;
    char pads[64];
    snprintf(pads, sizeof pads, "[%d,%d]", before, sum - before - lengths[i]);
    PUT(w, "  %%s%d = pad %%s%d pads=[%s%s%s]\n", padded, names[i], w->rank == 2 && w->axis ? "[0,0]," : "",
        pads, w->rank == 2 && !w->axis ? ",[0,0]" : "");
    if (all >= 0) PUT(w, "  %%s%d = add %%s%d, %%s%d\n", w->names, all, padded);
    all = all >= 0 ? w->names++ : padded;
  }
  return all;
}

static void make(writer *w, uint64_t seed) {
  int lengths[MOST_PARTS], count, total = 0;
  *w = (writer){.state = seed};
  w->rank = pick(w, 1, 2), w->axis = w->rank == 2 ? pick(w, 0, 1) : 0, w->columns = pick(w, 1, MOST_COLUMNS);
  count = pick(w, 1, MOST_PARTS);
  for (int i = 0; i < count; i++) total += lengths[i] = pick(w, 1, MOST_LENGTH);
  PUT(w, "mesh @m %s\n", meshes[pick(w, 0, (int)(sizeof meshes / sizeof *meshes) - 1)]);
  PUT(w, "graph @g(%%a: f32[%d", ROWS);
  if (w->rank == 1) PUT(w, ",%d", total);
  else PUT(w, ",%d,%d", w->axis ? w->columns : total, w->axis ? total : w->columns);
  PUT(w, "] @m[x%s]) {\n", w->rank == 2 ? ",-,-" : ",-");
  int half = pick(w, 0, 1) ? count : pick(w, 1, count), first = join(w, lengths, half, total), second;
  if (half < count) { /* joins of joins */
    second = join(w, lengths + half, count - half, total);
    PUT(w, "  %%s%d = concat %%s%d, %%s%d axis=%d\n", w->names, first, second, w->axis);
    first = w->names++;
  }
  if (pick(w, 0, 1)) PUT(w, "  %%y = relu %%s%d\n  return %%y\n}\n", first);
  else PUT(w, "  %%y = mul %%s%d, %%s%d\n  return %%y, %%s%d\n}\n", first, first, first);
}

static bool one_case(uint64_t seed) {
  writer w;
  ir_graph g;
  ir_module module;
  ir_error error = {0};
  float data[ROWS * MOST_PARTS * MOST_LENGTH * MOST_COLUMNS];
  make(&w, seed);
  for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = (float)pick(&w, -4, 4);
  ir_graph_init(&g, &ir_mem_libc, &error);
  if (fe_parse_graphs(&g, "t", w.text, (size_t)w.length, &module) != IR_OK)
    return fprintf(stderr, "%s\n%s\n", w.text, error.text), false;
  const ir_parsed_graph *b = &module.graphs[0];
  ir_binding_input bound = {b->params[0].ref, data};
  on_mesh c = {.g = &g, .inputs = &bound, .input_count = 1};
  bool good = on_mesh_check(&c, b->root);
  if (!good || show) fprintf(stderr, "%s%s\n(prop_mesh_pieces --case %" PRIu64 ")\n", w.text, c.what, seed);
  pieces += c.collectives, exchanges += c.exchanges, joined += c.collectives > c.exchanges;
  ir_module_free(&module);
  ir_graph_free(&g);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 500);
  show = given.show;
  cases_run(&given, one_case);
  printf(
      "prop_mesh_pieces: %ld graphs, %ld sums joined in %ld exchanges, %ld graphs with pieces, %ld failed, "
      "seed %" PRIu64 "\n",
      (long)given.count, exchanges, pieces, joined, given.failed, given.seed);
  return given.failed != 0 || (!given.repeat && joined < given.count / 8);
}
