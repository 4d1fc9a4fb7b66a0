/* Single operations and compositions on meshes: operands divided along every assignment of mesh axes to their
 * axes, sizes that divide, do not divide, and are smaller than the mesh; as they are, their gradients, their
 * derivatives in a direction, and in a batch. */
#include <stdlib.h>
#include <string.h>

#include "frontend/text/reader.h"
#include "ir/mesh/sharding.h"
#include "passes/autodiff/derive.h"
#include "passes/batch/batch.h"
#include "passes/ops/ops.h"
#include "test/lib/mesh_case.h"

enum { CONSTANT = 1 }; /* has no derivative, or none here */

/* Operands, separated by blanks, and the operation, or statements that end with that of %y. P, Q and R stand
 * for sizes, at least 2. */
static const struct {
  const char *operands, *line;
  int flags;
} rows[] = {
    {"f32[P,Q]", "neg %a", 0},
    {"f32[P,Q]", "exp %a", 0},
    {"f32[P,Q]", "tanh %a", 0},
    {"f32[P,Q]", "relu %a", 0},
    {"f32[P,Q]", "sqrt %a", 0},
    {"f32[P,Q]", "floor %a", CONSTANT},
    {"i32[P,Q]", "not %a", CONSTANT},
    {"f32[P,Q]", "cast %a dtype=i32", CONSTANT},
    {"f32[P,Q]", "bitcast %a dtype=i32", CONSTANT},
    {"f32[P,Q]", "stored %a", 0},
    {"f32[P,Q]", "stop_gradient %a", CONSTANT},
    {"f32[P,Q]", "all_reduce %a", 0},
    {"f32[P,Q]", "all_gather %a axis=1", 0},
    {"f32[P,Q]", "reduce_scatter %a over=[x] axis=0", 0},
    {"f32[P,Q]", "all_to_all %a split=0 concat=1", 0},
    {"f32[P,Q]", "all_to_all %a over=[x] split=1 concat=1", 0},
    {"f32[P,Q]", "pmean %a over=[x]", 0},
    {"f32[P,Q]", "gather_all_axes %a", 0},
    {"f32[P,Q]", "transfer_to %a to=[x,-]", 0},
    {"f32[P,Q]", "transfer_to %a device=\"cpu\"", 0},
    {"f32[24,Q]", "all_reduce %a over=[x] axis=0 reduce=mean", 0},
    {"i32[P,24]", "all_reduce %a over=[x] axis=1 reduce=max", CONSTANT},
    {"f32[24,Q]", "ppermute %a over=[x] axis=0 pairs=[[0,1],[1,0]]", 0},
    {"f32[P,24]", "ppermute %a over=[x] axis=1 pairs=[[1,0]]", 0},
    {"f32[24,Q]", "all_to_all %a over=[x] split=1 concat=0 tiled=false", 0},
    {"f32[24,Q]", "distributed_broadcast %a over=[x] axis=0", 0},
    {"i64[R]", "axis_index over=[x]", CONSTANT},
    {"f32[P,Q] f32[P,Q]", "add %a, %b", 0},
    {"f32[P,Q] f32[Q]", "sub %a, %b", 0},
    {"f32[P,1] f32[1,Q]", "mul %a, %b", 0},
    {"f32[P,Q] f32[P,Q]", "div %a, %b", 0},
    {"f32[P,Q] f32[P,Q]", "max %a, %b", 0},
    {"f32[P,Q] f32[P,Q]", "lt %a, %b", CONSTANT},
    {"i32[P,Q] i32[P,Q]", "xor %a, %b", CONSTANT},
    {"i32[P,Q] i32[Q]", "floordiv %a, %b", CONSTANT},
    {"bool[P,Q] f32[P,Q] f32[Q]", "where %a, %b, %c", 0},
    {"f32[P,Q] f32[P,Q] f32[P,Q]", "fma %a, %b, %c", 0},
    {"f32[P,Q,R]", "permute %a order=[2,0,1]", 0},
    {"f32[P,Q]", "reshape %a shape=[P*Q]", 0},
    {"f32[P*Q]", "reshape %a shape=[P,Q]", 0},
    {"f32[P,Q]", "reshape %a shape=[Q,P]", 0},
    {"f32[P,Q,R]", "reshape %a shape=[P,Q*R]", 0},
    {"f32[4,P,2]", "reshape %a shape=[2,2,P*2]", 0},
    {"f32[8,4]", "reshape %a shape=[2,16]", 0},
    {"f32[P,Q]", "flatten %a", 0},
    {"f32[P,1]", "expand %a shape=[P,Q]", 0},
    {"f32[Q]", "broadcast_to %a shape=[P,Q]", 0},
    {"f32[P,Q]", "unsqueeze %a axis=1", 0},
    {"f32[P,1,Q]", "squeeze %a axis=1", 0},
    {"f32[P,Q]", "shrink %a bounds=[[0,P],[1,Q]]", 0},
    {"f32[P,Q]", "slice %a start=[1,0] size=[P-1,Q]", 0},
    {"f32[P,Q]", "stride %a steps=[2,-1]", 0},
    {"f32[P,Q]", "flip %a axes=[0]", 0},
    {"f32[P,Q]", "point %a index=1 axis=0", 0},
    {"f32[P,Q]", "pad %a pads=[[1,0],[0,2]] value=3", 0},
    {"f32[P,Q]", "pad %a pads=[[0,0],[1,1]] mode=reflect", 0},
    {"f32[P,Q] f32[R,Q]", "concat %a, %b axis=0", 0},
    {"f32[P,Q] f32[P,Q]", "stack %a, %b axis=1", 0},
    {"f32[P,Q]", "sum %a axes=[0]", 0},
    {"f32[P,Q]", "sum %a", 0},
    {"i32[P,Q]", "prod %a axes=[1]", CONSTANT},
    {"f32[P,Q]", "max %a axes=[0] keepdims=true", 0},
    {"f32[P,Q]", "min %a axes=[1]", 0},
    {"f32[P,Q]", "mean %a axes=[1]", 0},
    {"f16[P,Q]", "mean %a axes=[0] keepdims=true", CONSTANT},
    {"bool[P,Q]", "any %a axes=[0]", CONSTANT},
    {"bool[P,Q]", "all %a axes=[1]", CONSTANT},
    {"f32[P,Q]", "argmax %a axis=1", CONSTANT},
    {"f32[P,Q]", "argmin %a axis=0", CONSTANT},
    {"f32[P,Q] f32[Q,R]", "matmul %a, %b", 0},
    {"i32[P,Q] i32[Q,R]", "matmul %a, %b", CONSTANT},
    {"f32[R,P,Q] f32[R,Q,2]", "matmul %a, %b", 0},
    {"bf16[P,Q] bf16[Q,R]", "matmul %a, %b", CONSTANT},
    {"f32[P,Q] i64[R]", "gather %a, %b axis=0", 0},
    {"f32[P,Q,R] i32[2,2]", "gather %a, %b axis=1 mode=clip", 0},
    {"f32[P,Q] i64[2] f32[2,Q]", "scatter %a, %b, %c axis=0", 0},
    {"f32[P,Q] i64[R] f32[R,Q]", "scatter_add %a, %b, %c axis=0", 0},
    {"f32[P,Q]", "cumsum %a axis=0", 0},
    {"f32[P,Q]", "cummax %a axis=1", CONSTANT},
    {"f32[P,Q]", "sort %a axis=0", 0},
    {"f32[P,Q]", "argsort %a axis=1", CONSTANT},
    {"f32[P,Q]", "softmax %a axis=1", 0},
    {"f32[P,Q]", "log_softmax %a axis=0", 0},
    {"f32[P,Q]", "logsumexp %a axes=[1]", 0},
    {"f32[P,Q]", "var %a axes=[0]", 0},
    {"f32[P,Q]", "std %a axes=[1]", CONSTANT},
    {"f32[P,Q] f32[Q] f32[Q]", "layer_norm %a, %b, %c axis=1", 0},
    {"f32[P,Q] f32[Q]", "rms_norm %a, %b axis=1", 0},
    {"f32[P,Q]", "tril %a", 0},
    {"f32[P,Q]", "triu %a diagonal=1", 0},
    {"f32[P,Q] f32[Q,R]", "einsum %a, %b equation=\"ij,jk->ki\"", 0},
    {"f32[P,Q] f32[P,R]", "einsum %a, %b equation=\"bi,bj->bij\"", 0},
    {"f32[2,P,Q]", "rearrange %a from=\"abc\" to=\"c(ab)\"", 0},
    {"f32[2,P,8] f32[Q,P,3]", "conv %a, %b", 0},
    {"f32[2,P,8]", "max_pool %a kernel=2", CONSTANT},
    {"f32[2,P,8]", "avg_pool %a kernel=2", 0},
    {"f32[P,Q] i64[P,Q]", "take_along_axis %a, %b axis=0", 0},
    {"f32[P,Q] f32[1,Q]", "slice_update %a, %b start=[1,0]", 0},
    {"f32[P,Q] f32[P,1]",
     "%p = address %a\n  %t = shrink %p bounds=[[0,P],[1,2]]\n  %y = assign %a, %t, %b op=add", 0},
    {"f32[P,Q] f32[Q,P]", "%p = address %a\n  %t = permute %p order=[1,0]\n  %y = assign %a, %t, %b op=mul",
     0},
    {"f32[P,Q] f32[Q]", "%p = address %a\n  %t = flip %p axes=[0]\n  %y = assign %a, %t, %b", 0},
    {"i32[P,4,Q] i32[P*4,Q]",
     "%p = address %a\n  %t = reshape %p shape=[P*4,Q]\n  %y = assign %a, %t, %b op=max", CONSTANT},
    {"f32[P,Q] i64[R] f32[R,Q]",
     "%p = address %a\n  %t = gather %p, %b axis=0\n  %y = assign %a, %t, %c op=add", 0},
    {"f32[P,Q] i64[] f32[P]", "%p = address %a\n  %t = gather %p, %b axis=1\n  %y = assign %a, %t, %c", 0},
    {"f32[2,P,Q] f32[2,R,Q] f32[2,R,Q]", "attention %a, %b, %c", 0},
    {"f32[P,Q]", "gelu %a", 0},
    {"f32[P,Q]", "silu %a", 0},
    {"f32[P,Q]", "clip %a low=-1 high=1", 0},
    {"i64[R]", "uniform shape=[P,Q] seed=3", CONSTANT},
    {"i64[R]", "iota shape=[P,Q] axis=1 dtype=f32", CONSTANT},
    {"i64[R]", "eye shape=[P,Q] dtype=f32", CONSTANT},
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *const mesh_case_uses[MESH_CASE_USES] = {"as it is", "gradient", "direction", "batch"};

size_t mesh_case_rows(void) { return ROWS; }
const char *mesh_case_row(size_t kind) { return rows[kind].line; }

/* Appends the text with the sizes in place of letters; products of sizes and differences are numbers. */
static void put_sized(ir_text *out, const char *text, const int64_t *sizes) {
  for (const char *c = text; *c; c++) {
    if (strchr("PQR", *c) == NULL) {
      ir_text_add(out, c, 1);
      continue;
    }
    int64_t value = sizes[*c - 'P'];
    while ((c[1] == '*' || c[1] == '-') && c[2]) {
      int64_t next = strchr("PQR", c[2]) ? sizes[c[2] - 'P'] : c[2] - '0';
      value = c[1] == '*' ? value * next : value - next;
      c += 2;
    }
    ir_textf(out, "%lld", (long long)value);
  }
}

/* graph @row(%a: f32[4,6], ...) { %y = ... }; in a batch the first operand has a batch axis of 3. */
static void put_graph(ir_text *out, const char *mesh, size_t row, const int64_t *sizes, mesh_case_use how) {
  ir_textf(out, "mesh @m [%s]\ngraph @row(%%a: ", mesh);
  char name = 'a';
  for (const char *c = rows[row].operands; *c; c++) {
    if (*c == ' ') ir_textf(out, ", %%%c: ", ++name);
    else if (*c == '[' && how == MESH_CASE_BATCH && name == 'a') ir_text_str(out, "[3|");
    else {
      char piece[8] = {*c};
      while (strchr("PQR", *c) && (c[1] == '*' || c[1] == '-')) strncat(piece, c + 1, 2), c += 2;
      put_sized(out, piece, sizes);
    }
  }
  ir_text_str(out, *rows[row].line == '%' ? ") {\n  " : ") {\n  %y = ");
  put_sized(out, rows[row].line, sizes);
  ir_text_str(out, "\n  return %y\n}\n");
}

/* Small numbers, whose sums and products are exact; indices 0 and 1. */
static void *data_of(const ir_graph *g, ir_ref x, uint64_t *state) {
  ir_dtype t = ir_dtype_of(g, x);
  int64_t count = 1, size;
  for (uint32_t d = 0; d < ir_rank(g, x); d++)
    if (ir_is_const(g, ir_dim(g, x, d), &size)) count *= size;
  unsigned char *bytes = calloc((size_t)count + 1, ir_dtypes[t].bytes);
  for (int64_t i = 0; i < count; i++) {
    ir_value v = {.i = random_between(state, 0, 1)};
    if (ir_is_float(t)) v.f = (double)random_between(state, -6, 6) / 2;
    else if (t == IR_I32) v.i = random_between(state, 1, 7);
    ir_value_store(bytes + (size_t)i * ir_dtypes[t].bytes, t, v);
  }
  return bytes;
}

ir_ref mesh_case_roots(ir_graph *g, ir_ref y, const ir_ref *inputs, size_t count, mesh_case_use how) {
  ir_ref x[MESH_CASE_INPUTS], d[MESH_CASE_INPUTS], out = y;
  pass_derivative of = {.who = "test", .outputs = &out, .output_count = 1, .inputs = x};
  if (how == MESH_CASE_PLAIN || how == MESH_CASE_BATCH) return ir_tuple(g, &y, 1);
  for (size_t i = 0; i < count; i++)
    if (ir_is_float(ir_dtype_of(g, inputs[i]))) x[of.input_count++] = inputs[i];
  if (how == MESH_CASE_GRADIENT) {
    out = op_reduce(g, IR_OP_SUM, op_binary(g, IR_OP_MUL, y, y), NULL, 0, false);
    return pass_vjp(g, &of, NULL, d) ? ir_tuple(g, d, (uint32_t)of.input_count) : 0;
  }
  return pass_jvp(g, &of, x, d) ? ir_tuple(g, d, 1) : 0;
}

static bool parse(mesh_case *c, const char *mesh, const int64_t *sizes, ir_module *module) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  put_graph(&text, mesh, c->kind, sizes, c->use);
  ir_graph_init(&c->single, &ir_mem_libc, &c->error);
  bool good = fe_parse_graphs(&c->single, "row", ir_text_get(&text), text.len, module) == IR_OK;
  ir_text_free(&text);
  return good;
}

/* Inputs and the root are those of the graph with batches made physical. */
static bool finish(mesh_case *c, uint64_t *state, ir_ref *refs, size_t count) {
  for (size_t i = 0; i < count; i++) mesh_case_divide(c->g, state, refs[1 + i]);
  if (!pass_physicalize(c->g, refs, 1 + count)) return false;
  c->root = refs[0];
  for (; c->input_count < count; c->input_count++) {
    ir_ref x = refs[1 + c->input_count];
    c->inputs[c->input_count] = (ir_binding_input){x, data_of(c->g, x, state)};
  }
  return true;
}

bool mesh_case_of_row(mesh_case *c, uint64_t seed, const char *const *meshes) {
  static const int64_t all[] = {2, 3, 4, 5, 6, 7, 8, 9};
  uint64_t state = seed;
  int64_t sizes[3];
  memset(c, 0, sizeof *c);
  c->g = &c->single;
  c->kind = random_next(&state) % ROWS;
  const char *mesh = mesh_case_pick(&state, meshes);
  int flags = rows[c->kind].flags;
  if (random_next(&state) % 2) c->use = (mesh_case_use)(random_next(&state) % MESH_CASE_USES);
  if (flags & CONSTANT && (c->use == MESH_CASE_GRADIENT || c->use == MESH_CASE_DIRECTION))
    c->use = MESH_CASE_PLAIN;
  for (int i = 0; i < 3; i++) sizes[i] = all[random_next(&state) % 8];
  ir_module module;
  ir_ref refs[1 + MESH_CASE_INPUTS];
  bool good = parse(c, mesh, sizes, &module);
  size_t count = good ? module.graphs[0].param_count : 0;
  for (size_t i = 0; i < count; i++) refs[1 + i] = module.graphs[0].params[i].ref;
  refs[0] = good ? mesh_case_roots(c->g, module.graphs[0].results[0].ref, refs + 1, count, c->use) : 0;
  ir_module_free(&module);
  if (refs[0]) return finish(c, &state, refs, count);
  bool refused = good && c->error.status == IR_ERR_INVALID;
  if (refused) ir_error_clear(&c->error);
  return refused;
}
