/* What devices receive for views along axes that are divided: of each view, every division of its operand,
 * meshes, and sizes that divide or do not. The elements that a device's part of the result holds, and that
 * its part of the operand does not, are counted by evaluating the view of an array of different numbers; the
 * program exchanges these and no others.
 *
 *   prop_mesh_reads --seed S --count N
 *   prop_mesh_reads --case SEED        one again, by the seed in its report */
#include "frontend/text/reader.h"
#include "ir/eval/eval.h"
#include "ir/mesh/sharding.h"
#include "passes/ops/ops.h"
#include "passes/shard/shard.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const meshes[] = {"x=2",     "x=3",         "x=4",   "x=8",      "x=2,y=2",
                                     "x=2,y=4", "x=2,y=2,z=2", "x=3:1", "x=2:1,y=2"};

/* P and Q stand for sizes, at least 4. Where a row is `loose`, boxes hold elements between those that are
 * read. */
static const struct {
  const char *shape, *lines;
  bool loose;
} rows[] = {
    {"P,Q", "%y = flip %x axes=[0]", false},
    {"P,Q", "%y = flip %x axes=[0,1]", false},
    {"P,Q", "%y = shrink %x bounds=[[1,P],[0,2]]", false},
    {"P,Q", "%y = slice %x start=[2,1] size=[2,3]", false},
    {"P,Q", "%y = stride %x steps=[2,1]", false},
    {"P,Q", "%y = stride %x steps=[1,-3]", false},
    {"P,Q", "%y = pad %x pads=[[1,2],[0,3]] value=-1", false},
    {"P,Q", "%y = pad %x pads=[[1,2],[0,3]] mode=edge", false},
    {"P,Q", "%y = pad %x pads=[[2,1],[0,0]] mode=reflect", false},
    {"P,Q", "%y = pad %x pads=[[2,1],[0,0]] mode=wrap", false},
    {"P,Q",
     "%a = shrink %x bounds=[[2,P],[0,Q]]\n%b = shrink %x bounds=[[0,2],[0,Q]]\n%y = concat %a, %b axis=0",
     false},
    {"P,Q", "%y = reshape %x shape=[Q,P]", true},
    {"P,Q", "%y = reshape %x shape=[P*Q]", true},
    {"P,Q", "%p = permute %x order=[1,0]\n%y = flip %p axes=[1]", false},
    {"P,Q",
     "%p = pad %x pads=[[1,1],[1,1]] value=-1\n%f = flip %p axes=[0]\n%y = shrink %f bounds=[[1,P],[0,Q]]",
     false},
    {"1,2,P", "%y = max_pool %x kernel=3 stride=1 padding=1", false},
    {"1,2,P,Q", "%y = max_pool %x kernel=2 stride=2", false},
    {"1,2,P,Q", "%y = max_pool %x kernel=2 stride=1 padding=1", false},
    {"1,2,9", "%y = max_pool %x kernel=2 stride=1 dilation=3", true},
};
enum { ROWS = sizeof rows / sizeof *rows, MOST_DEVICES = 8 };

static long checked, moved, excess, by_row[ROWS];
static bool show;

static void put_sized(ir_text *out, const char *text, const int64_t *sizes) {
  for (const char *c = text; *c; c++) {
    if (!strchr("PQ", *c)) ir_text_add(out, c, 1);
    else if (c[1] == '*') ir_textf(out, "%lld", (long long)(sizes[0] * sizes[1])), c += 2;
    else ir_textf(out, "%lld", (long long)sizes[*c - 'P']);
  }
}

/* The element of the whole array that is element i of the box, row-major. */
static int64_t element_of(const ir_box *box, const int64_t *shape, int64_t i) {
  int64_t at = 0, stride = 1;
  for (uint32_t d = box->rank; d-- > 0;) {
    int64_t size = box->hi[d] - box->lo[d];
    at += stride * (box->lo[d] + i % size);
    i /= size;
    stride *= shape[d];
  }
  return at;
}

/* The elements of x that pool windows read: a maximum has only one of them, so the windows are counted in the
 * operand of the reduction. */
static ir_ref counted(const ir_graph *g, ir_ref y) {
  return ir_op_of(g, y) == IR_OP_REDUCE_MAX ? ir_src(g, y, 0) : y;
}

/* Elements that device d needs and does not have: its part of y is that of the same spec for windows, whose
 * axes are those of y and the indices within a window. */
static int64_t needed(ir_graph *g, const shard_program *p, ir_ref y, const ir_eval_result *whole, int64_t d,
                      int64_t elements) {
  const ir_mesh *mesh = ir_graph_mesh(g);
  ir_spec spec = p->results[0].spec;
  int64_t shape[IR_MAX_RANK], count = 0;
  unsigned char *seen = calloc((size_t)elements + 1, 1);
  ir_box box;
  spec.rank = (uint8_t)whole->rank;
  ir_spec_box(mesh, &spec, whole->shape, d, &box);
  for (int64_t i = 0; i < ir_box_elements(&box); i++) {
    int64_t value = ((const int64_t *)whole->data)[element_of(&box, whole->shape, i)];
    if (value >= 0 && value < elements) seen[value] = 1;
  }
  ir_ref x = p->inputs[0].global;
  for (uint32_t k = 0; k < ir_rank(g, x); k++) ir_is_const(g, ir_dim(g, x, k), &shape[k]);
  ir_spec_box(mesh, &p->inputs[0].spec, shape, d, &box);
  for (int64_t i = 0; i < ir_box_elements(&box); i++) seen[element_of(&box, shape, i)] = 0;
  for (int64_t i = 0; i < elements; i++) count += seen[i];
  free(seen);
  (void)y;
  return count;
}

static bool check(ir_graph *g, size_t row, ir_ref x, ir_ref y) {
  ir_error error = {0};
  int64_t elements = 1, size;
  for (uint32_t k = 0; k < ir_rank(g, x); k++)
    if (ir_is_const(g, ir_dim(g, x, k), &size)) elements *= size;
  int64_t *data = malloc((size_t)elements * sizeof *data);
  for (int64_t i = 0; i < elements; i++) data[i] = i;
  ir_binding_input bound = {x, data};
  ir_ref of = counted(g, y);
  ir_eval_result whole;
  shard_program p;
  bool good = ir_eval(g, &of, 1, &bound, 1, NULL, 0, &whole, &error) == IR_OK;
  free(data);
  if (!good) return false;
  shard_request request = {.root = ir_tuple(g, &y, 1), .inputs = &x, .input_count = 1, .device = SHARD_ALL};
  good = pass_shard(g, &request, &p) && shard_count_costs(g, &p);
  uint64_t need = 0, have = 0;
  for (int64_t d = 0; d < ir_graph_mesh(g)->device_count && good; d++)
    need += (uint64_t)needed(g, &p, y, &whole, d, elements) * sizeof(int64_t);
  for (size_t i = 0; i < p.collective_count; i++)
    if (p.collectives[i].exchange) have += p.collectives[i].cost.total;
  checked++, by_row[row]++, moved += need > 0, excess += have > need;
  if (good && (have < need || (have > need && !rows[row].loose))) {
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    ir_spec_print(ir_graph_mesh(g), &p.inputs[0].spec, &text), ir_text_str(&text, " to ");
    ir_spec_print(ir_graph_mesh(g), &p.results[0].spec, &text);
    fprintf(stderr, "%s: %llu bytes are received, %llu needed\n", ir_text_get(&text),
            (unsigned long long)have, (unsigned long long)need);
    ir_text_free(&text);
    good = false;
  }
  ir_eval_free(g, &whole, 1);
  shard_program_free(&p);
  return good;
}

static bool one_case(uint64_t seed) {
  uint64_t state = seed;
  size_t row = random_next(&state) % ROWS;
  const char *mesh = meshes[random_next(&state) % (sizeof meshes / sizeof *meshes)];
  int64_t sizes[2] = {random_between(&state, 4, 12), random_between(&state, 4, 9)};
  ir_graph g;
  ir_error error = {0};
  ir_module module;
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_textf(&text, "mesh @m [%s]\ngraph @row(%%x: i64[", mesh);
  put_sized(&text, rows[row].shape, sizes);
  ir_text_str(&text, "]) {\n");
  put_sized(&text, rows[row].lines, sizes);
  ir_text_str(&text, "\nreturn %y\n}\n");
  ir_graph_init(&g, &ir_mem_libc, &error);
  bool good = fe_parse_graphs(&g, "row", ir_text_get(&text), text.len, &module) == IR_OK;
  if (good) {
    ir_ref x = module.graphs[0].params[0].ref;
    ir_spec spec;
    ir_spec_init(&spec, ir_rank(&g, x));
    for (uint32_t a = 0; a < ir_graph_mesh(&g)->axis_count; a++) {
      uint32_t to = (uint32_t)(random_next(&state) % (spec.rank + 1u));
      if (to < spec.rank) ir_spec_add(&spec, to, ir_whole_axis(ir_graph_mesh(&g), a));
    }
    ir_set_spec(&g, x, &spec);
    good = check(&g, row, x, module.graphs[0].results[0].ref);
  }
  if (!good || show)
    fprintf(stderr, "%s%s(prop_mesh_reads --case %" PRIu64 ")\n", ir_text_get(&text), error.text, seed);
  ir_module_free(&module);
  ir_graph_free(&g);
  ir_text_free(&text);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 2000);
  show = given.show;
  cases_run(&given, one_case);
  long rarely = 0;
  for (size_t i = 0; i < ROWS && given.count >= 50 * ROWS && !given.failed; i++)
    if (!by_row[i]) rarely++, fprintf(stderr, "not once: %s\n", rows[i].lines);
  printf(
      "prop_mesh_reads: %ld views, %ld need elements of others, %ld receive more, %ld failed, seed %" PRIu64
      "\n",
      checked, moved, excess, given.failed, given.seed);
  return given.failed != 0 || rarely;
}
