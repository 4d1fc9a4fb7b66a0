/* References that functions of conditions, loops and vmap read and write. Expected elements are computed here
 * by hand; the evaluator and a compiled program leave the same in the caller's memory. spec: I28 */
#include <string.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { MOST = 12 };

static void check_floats(const char *what, const float *have, const float *want, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (have[i] != want[i]) fail_msg("%s: element %zu is %g, not %g", what, i, have[i], want[i]);
}

/* What is recorded with the reference a, which holds 1, 2, ..., its view, made outside of the functions, and
 * an input k. */
typedef struct recording {
  vf_graph *g;
  vf_ref a, view;
  vf_value k;
} recording;

typedef struct program_case {
  const char *name;
  void (*record)(recording *r);
  int64_t rows, columns;
  int32_t k;
  float want[MOST]; /* of the reference */
  float y;          /* of the output, an f32 */
} program_case;

static vf_value number(recording *r, double x) { return vf_cast(vf_number(r->g, x), VF_F32); }
static vf_value sum(vf_value x) { return vf_sum(x, 0, NULL, false); }
static vf_ref row(recording *r, int64_t i) { return vf_ref_view(r->a, vf_point(r->a.target, i, 0)); }

/* conditions: the version is that of the branch that is taken */

static void add_to_row(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  (void)x;
  vf_ref_update(row(r, 0), number(r, 10), VF_WRITE_ADD);
  vf_ref_update(row(r, 1), vf_ref_get(row(r, 0)), VF_WRITE_SET);
  y[0] = sum(vf_ref_get(r->a));
}
static void read_only(void *user, const vf_value *x, vf_value *y) {
  (void)x;
  y[0] = sum(vf_ref_get(((recording *)user)->a));
}
static void record_cond(recording *r) {
  vf_value taken = vf_gt(r->k, vf_number(r->g, 0)), y;
  vf_cond(taken, 0, NULL, add_to_row, read_only, r, 1, &y);
  vf_ref_update(row(r, 0), number(r, 1), VF_WRITE_SUB);
  vf_output(r->g, "y", y);
}

/* loops: the version is a part of the state */

static void scan_view(void *user, const vf_value *x, vf_value *y) { /* x: state, slice */
  recording *r = user;
  vf_ref_update(r->view, x[1], VF_WRITE_ADD);
  vf_ref last = row(r, 1);
  vf_ref_set(last, vf_ref_get(r->view));
  y[0] = vf_add(x[0], sum(vf_ref_get(r->a)));
  y[1] = x[0];
}
static void record_scan(recording *r) {
  vf_value init = number(r, 0), carry, stack, xs = vf_data(r->g, VF_F32, VF_LIST(3), (float[]){1, 10, 100});
  vf_scan(scan_view, r, 1, &init, 1, &xs, 1, -1, false, &carry, &stack);
  vf_output(r->g, "y", vf_add(carry, sum(stack)));
}

static void below_k(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  y[0] = vf_lt(vf_ref_get(vf_ref_view(r->view, vf_point(r->view.target, 0, 0))), vf_cast(r->k, VF_F32));
  (void)x;
}
static void double_all(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  vf_ref_update(r->a, number(r, 2), VF_WRITE_MUL);
  y[0] = vf_add(x[0], vf_number(r->g, 1));
}
static void record_while(recording *r) {
  vf_value trips = number(r, 0), y;
  vf_while_loop(below_k, double_all, r, 1, &trips, 10, &y);
  vf_output(r->g, "y", y);
}

/* a condition in a loop in a checkpoint */
static void scan_cond(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  vf_value out;
  vf_cond(vf_gt(x[1], vf_number(r->g, 1)), 0, NULL, add_to_row, read_only, r, 1, &out);
  y[0] = vf_add(x[0], out);
}
static void nested(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  vf_value xs = vf_data(r->g, VF_F32, VF_LIST(3), (float[]){1, 2, 3});
  vf_scan(scan_cond, r, 1, x, 1, &xs, 0, -1, false, y, NULL);
}
static void record_nested(recording *r) {
  vf_value x = number(r, 0), y;
  vf_checkpoint(nested, r, 1, &x, 1, &y);
  vf_output(r->g, "y", y);
}

/* vmap: the positions are mapped */
static void write_mapped(void *user, const vf_value *x, vf_value *y) { /* x: positions of a row, u */
  recording *r = user;
  vf_ref mine = vf_ref_view(r->a, x[0]);
  vf_value old = sum(vf_ref_get(mine));
  vf_ref_update(mine, x[1], VF_WRITE_ADD);
  vf_ref_update(vf_ref_view(mine, vf_shrink(mine.target, VF_LIST(1, 2))), number(r, 2), VF_WRITE_MUL);
  y[0] = vf_sub(sum(vf_ref_get(mine)), old);
}
static void record_vmap(recording *r) {
  vf_value x[2] = {r->a.target, vf_data(r->g, VF_F32, VF_LIST(2), (float[]){100, 200})}, y;
  vf_map map = {sizeof map, 2, 1, NULL, NULL, -1, NULL};
  vf_vmap(r->g, &map, write_mapped, r, x, &y);
  vf_output(r->g, "y", sum(y));
}

static void write_element(void *user, const vf_value *x, vf_value *y) { /* x: position, u */
  recording *r = user;
  vf_ref_set(vf_ref_view(r->a, x[0]), x[1]);
  y[0] = x[1];
}
static void write_columns(void *user, const vf_value *x, vf_value *y) { /* x: positions of a row, u of it */
  recording *r = user;
  vf_map map = {sizeof map, 2, 1, NULL, NULL, -1, NULL};
  vf_vmap(r->g, &map, write_element, r, x, y);
}
static void record_vmap_nested(recording *r) {
  int in_axes[] = {1, 0};
  vf_value u = vf_reshape(vf_iota(r->g, VF_F32, VF_LIST(6), 0), VF_LIST(3, 2)), x[2] = {r->a.target, u}, y;
  vf_map map = {sizeof map, 2, 1, in_axes, NULL, -1, NULL};
  vf_vmap(r->g, &map, write_columns, r, x, &y);
  vf_output(r->g, "y", vf_sum(y, 0, NULL, false));
}

/* vmap inside of a loop */
static void scan_vmap(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  vf_value all[2] = {r->a.target, vf_data(r->g, VF_F32, VF_LIST(2), (float[]){1, 2})}, out;
  vf_map map = {sizeof map, 2, 1, NULL, NULL, -1, NULL};
  vf_vmap(r->g, &map, write_mapped, r, all, &out);
  y[0] = vf_add(x[0], sum(out));
}
static void record_scan_vmap(recording *r) {
  vf_value init = number(r, 0), y;
  vf_scan(scan_vmap, r, 1, &init, 0, NULL, 0, 2, false, &y, NULL);
  vf_output(r->g, "y", y);
}

static const program_case cases[] = {
    {"cond, taken", record_cond, 2, 3, 1, {10, 11, 12, 11, 12, 13}, 72},
    {"cond, not taken", record_cond, 2, 3, 0, {0, 1, 2, 4, 5, 6}, 21},
    /* a = 1 2 | 3 4; row 0 flipped += x, then row 1 = row 0 flipped: sums 2 (1+2+2x) = 10, 50, 450 */
    {"scan", record_scan, 2, 2, 0, {112, 113, 113, 112}, 510 + 70},
    {"while_loop", record_while, 2, 2, 20, {16, 32, 48, 64}, 4},
    {"while_loop, none", record_while, 2, 2, 0, {1, 2, 3, 4}, 0},
    /* sums: 1+2+3+4, then rows 11 12, then rows 21 22 */
    {"cond in scan in checkpoint", record_nested, 2, 2, 0, {21, 22, 21, 22}, 10 + 46 + 86},
    {"vmap", record_vmap, 2, 2, 0, {101, 204, 203, 408}, (305 - 3) + (611 - 7)},
    {"vmap in vmap", record_vmap_nested, 2, 3, 0, {0, 2, 4, 1, 3, 5}, 15},
    /* 1 2 | 3 4; rows + 1, + 2, second column doubled, twice */
    {"vmap in scan", record_scan_vmap, 2, 2, 0, {3, 14, 7, 28}, (8 - 3) + (17 - 7) + (17 - 8) + (35 - 17)},
};

static void begin(recording *r, vf_context *context, int64_t rows, int64_t columns) {
  *r = (recording){.g = api_graph(context, "inside")};
  r->a = vf_ref_input(r->g, "a", VF_F32, VF_LIST(rows, columns));
  int64_t last_to_first[MOST]; /* a flip; nothing but the chain of views makes it a target inside */
  for (int64_t i = 0; i < columns; i++) last_to_first[i] = columns - 1 - i;
  vf_value order = vf_data(r->g, VF_I64, 1, &columns, last_to_first);
  r->view = vf_ref_view(r->a, vf_gather(vf_point(r->a.target, 0, 0), order, 0, VF_GATHER_CHECK));
  r->k = vf_input(r->g, "k", VF_I32, 0, NULL);
}

static void test_functions(void **state) {
  (void)state;
  vf_context *context = api_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const program_case *c = &cases[i];
    recording r;
    begin(&r, context, c->rows, c->columns);
    c->record(&r);
    if (vf_graph_status(r.g)) fail_msg("%s: %s", c->name, vf_graph_message(r.g));
    api_check_text(context, r.g);
    vf_program *p = api_compile(r.g);
    for (int compiled = 0; compiled < 2; compiled++) {
      float memory[MOST], y;
      for (int k = 0; k < MOST; k++) memory[k] = (float)k + 1;
      const void *inputs[] = {memory, &c->k};
      void *outputs[] = {&y};
      if (compiled) api_run(p, inputs, outputs, NULL);
      else api_evaluate(r.g, inputs, outputs, NULL);
      check_floats(c->name, memory, c->want, (size_t)(c->rows * c->columns));
      check_floats(c->name, &y, &c->y, 1);
    }
  }
}

/* References of the session. */
static void test_session(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_error error;
  recording r = {.g = vf_session(context, &error)};
  r.a = vf_ref_create(context, VF_F32, VF_LIST(2, 2), (float[]){1, 2, 3, 4}, &error);
  r.view = vf_ref_view(r.a, vf_flip(vf_point(r.a.target, 0, 0), VF_LIST(0)));
  vf_value init = number(&r, 0), carry, stack, xs = vf_data(r.g, VF_F32, VF_LIST(3), (float[]){1, 10, 100});
  vf_scan(scan_view, &r, 1, &init, 1, &xs, 1, -1, false, &carry, &stack);
  vf_ref_update(r.a, vf_number(r.g, 1), VF_WRITE_SUB);
  const float *elements = vf_ref_data(r.a, &error);
  if (!elements) fail_msg("session: %s", error.message);
  check_floats("session", elements, (float[]){111, 112, 112, 111}, 4);
  vf_ref_release(r.a);
}

/* what is refused */

static void write_unmapped(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  y[0] = vf_sum(vf_ref_update(r->a, vf_sum(x[0], 0, NULL, false), VF_WRITE_ADD), 0, NULL, false);
}
static void refuse_unmapped(recording *r) { /* along the axis of several elements: one alone may write */
  vf_value x = vf_ref_get(r->a), y;
  int columns = 1;
  vf_map map = {sizeof map, 1, 1, &columns, NULL, -1, NULL};
  vf_vmap(r->g, &map, write_unmapped, r, &x, &y);
}

static void scan_in_batch(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  vf_value init = vf_sum(x[0], 0, NULL, false);
  vf_scan(double_all, r, 1, &init, 0, NULL, 0, 2, false, y, NULL);
}
static void refuse_loop_in_batch(recording *r) {
  vf_value x = vf_ref_get(r->a), y;
  vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
  vf_vmap(r->g, &map, scan_in_batch, r, &x, &y);
}

static void write_in_condition(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  vf_ref_update(r->a, vf_number(r->g, 1), VF_WRITE_ADD);
  y[0] = vf_lt(x[0], vf_number(r->g, 3));
}
static void refuse_condition(recording *r) {
  vf_value x = number(r, 0), y;
  vf_while_loop(write_in_condition, double_all, r, 1, &x, 10, &y);
}

static void write_own(void *user, const vf_value *x, vf_value *y) {
  recording *r = user;
  vf_ref b = vf_ref_input(r->g, "b", VF_F32, VF_LIST(3));
  vf_ref_update(b, vf_number(r->g, 1), VF_WRITE_ADD);
  y[0] = x[0];
}
static void refuse_own(recording *r) {
  vf_value x = number(r, 0), y;
  vf_checkpoint(write_own, r, 1, &x, 1, &y);
}

static void assign_foreign(void *user, const vf_value *x, vf_value *y) {
  (void)user;
  y[0] = vf_assign(x[0], x[1], vf_sum(x[0], 0, NULL, false), VF_WRITE_SET);
}
static void refuse_value(recording *r) { /* the array has one row, as many elements as a row has */
  vf_value x[2] = {vf_ref_get(r->a), r->a.target}, y;
  vf_map map = {sizeof map, 2, 1, NULL, NULL, -1, NULL};
  vf_vmap(r->g, &map, assign_foreign, r, x, &y);
}

static const struct {
  const char *reason;
  void (*record)(recording *r);
} refused[] = {
    {"ref_update: the elements of a batch would all write the same positions of the reference; give vmap its "
     "positions (target), and write the view that the mapped ones make",
     refuse_unmapped},
    {"ref_update: a reference is not written inside of the function of a condition or a loop that vmap "
     "records "
     "for a batch; pass its value to the function, return the next one and write that",
     refuse_loop_in_batch},
    {"while_loop: the condition writes a reference; conditions only read: write it in the body",
     refuse_condition},
    {"ref_update: the reference was made inside of the function of a condition or a loop, which ends; make "
     "it "
     "outside",
     refuse_own},
    {"assign: the target i64[1|3] has batch axes that were axes of x, of shape f32[1|3]; a target of a value "
     "is made of its own positions: address %x, inside of vmap",
     refuse_value},
};

static void test_refused(void **state) {
  (void)state;
  vf_context *context = api_context();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    recording r;
    begin(&r, context, 1, 3);
    refused[i].record(&r);
    if (!vf_graph_status(r.g)) fail_msg("not refused: %s", refused[i].reason);
    api_check_reason(vf_graph_message(r.g), refused[i].reason);
  }
}

UNIT_TESTS(test_functions, test_session, test_refused)
