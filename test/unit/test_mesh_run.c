/* One program on all devices of a mesh: exchanges inside of loops, devices that fail, memory that ends, and
 * how many kernels there are. */
#include "ir/eval/eval.h"
#include "runtime/mesh_run.h"
#include "test/lib/flow.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

enum { DEVICES = 4, PART = 3, ALL = DEVICES * PART };

/* A mesh x=4. */
static rt_mesh *mesh_of(const ir_mem *mem, ir_error *error) {
  ir_mesh axes;
  rt_mesh *mesh = NULL;
  ir_mesh_init(&axes, &ir_mem_libc);
  if (ir_mesh_add(&axes, "x", 1, DEVICES, error)) rt_mesh_make(mem, &axes, false, NULL, NULL, &mesh, error);
  ir_mesh_free(&axes);
  return mesh;
}

static ir_ref coordinate(flow *f) { return ir_var(&f->g, "x", 1, 0, DEVICES - 1, 1); }

/* x[i] of each device, `size` of them, all together */
static ir_ref gather(flow *f, ir_ref part, int64_t size) {
  ir_graph *g = &f->g;
  ir_ref at = ir_make(g, IR_OP_MUL, IR_INDEX, 0, (ir_ref[]){coordinate(f), ir_index(g, size)}, 2);
  return ir_make_tensor(g, IR_OP_EXCHANGE, IR_F32, flow_shape(f, 1, DEVICES * size),
                        ir_name(g, "all_gather", 10),
                        (ir_ref[]){part, ir_index(g, DEVICES * size), ir_index(g, 0), at}, 4);
}
static ir_ref gather_all(flow *f, ir_ref part) { return gather(f, part, PART); }

/* The part of the next device, the first one's for the last. */
static ir_ref from_next(flow *f, ir_ref part) {
  ir_graph *g = &f->g;
  ir_ref x = coordinate(f), size = ir_index(g, PART);
  ir_ref next = ir_make(g, IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){x, ir_index(g, 1)}, 2);
  next = ir_make(g, IR_OP_MOD, IR_INDEX, 0, (ir_ref[]){next, ir_index(g, DEVICES)}, 2);
  ir_ref start = ir_make(g, IR_OP_MUL, IR_INDEX, 0, (ir_ref[]){next, size}, 2),
         at = ir_make(g, IR_OP_MUL, IR_INDEX, 0, (ir_ref[]){x, size}, 2);
  return ir_make_tensor(g, IR_OP_EXCHANGE, IR_F32, ir_shape(g, part), ir_name(g, "shift", 5),
                        (ir_ref[]){part, size, start, at}, 4);
}

typedef struct on_mesh {
  rt_mesh *mesh;
  rt_mesh_program *program;
  float in[DEVICES][PART], out[DEVICES][ALL];
  void *inputs[DEVICES], *outputs[DEVICES];
  int64_t vars[DEVICES];
  rt_mesh_arguments arguments[DEVICES];
} on_mesh;

static void close_mesh(void *object) {
  on_mesh *m = object;
  rt_mesh_program_free(m->program);
  rt_mesh_free(m->mesh);
  free(m);
}

/* The program of one input and one result, f32, on the mesh; in[d][i] = 10 d + i. */
static on_mesh *open_mesh(rt_program *p) {
  on_mesh *m = unit_keep(calloc(1, sizeof *m), close_mesh);
  rt_program *programs[DEVICES] = {p, p, p, p};
  ir_error error = {0};
  m->mesh = mesh_of(&ir_mem_libc, &error);
  assert_non_null(m->mesh);
  if (rt_mesh_program_make(m->mesh, programs, &m->program, &error) != IR_OK) fail_msg("%s", error.text);
  for (int d = 0; d < DEVICES; d++) {
    for (int i = 0; i < PART; i++) m->in[d][i] = (float)(10 * d + i);
    m->inputs[d] = m->in[d], m->outputs[d] = m->out[d];
    m->vars[d] = d;
    m->arguments[d] = (rt_mesh_arguments){&m->inputs[d], &m->outputs[d], &m->vars[d]};
  }
  return m;
}

static void run_mesh(on_mesh *m) {
  ir_error error = {0};
  if (rt_mesh_run(m->program, m->arguments, &error) != IR_OK) fail_msg("%s", error.text);
}

static void all_devices_get_all(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref x = flow_input(f, "a", IR_F32, flow_shape(f, 1, (int64_t)PART));
  ir_ref all = gather_all(f, ir_binary(g, IR_OP_ADD, x, x));
  on_mesh *m = open_mesh(flow_compile(f, c, NULL, FLOW_LIST(ir_binary(g, IR_OP_MUL, all, all))));
  rt_mesh_traffic kind;
  size_t count;
  int64_t most, total;
  for (int run = 0; run < 3; run++) {
    run_mesh(m);
    for (int d = 0; d < DEVICES; d++)
      for (int i = 0; i < ALL; i++) {
        float one = 2 * m->in[i / PART][i % PART];
        assert_true(m->out[d][i] == one * one);
      }
  }
  rt_mesh_count(m->program, &kind, 1, &count, &most, &total);
  assert_int_equal(count, 1);
  assert_string_equal(kind.kind, "all_gather");
  assert_int_equal(kind.times, 3);
  assert_int_equal(kind.messages, 3 * DEVICES * (DEVICES - 1));
  assert_int_equal(most, 3 * (ALL - PART) * 4);
  assert_int_equal(total, most * DEVICES);
}

/* Of parts of a cache line, what a device exchanges lies in the result, and takes no memory of its own. */
static void operands_lie_in_results(void **state) {
  enum { LINE = 16, LINES = DEVICES * LINE };
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref x = flow_input(f, "a", IR_F32, flow_shape(f, 1, (int64_t)LINE));
  ir_ref all = gather(f, ir_binary(g, IR_OP_ADD, x, x), LINE);
  ir_ref sum = ir_make_tensor(g, IR_OP_SUM, IR_F32, flow_shape(f, 0), 0, (ir_ref[]){all, ir_index(g, 0)}, 2);
  rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(sum));
  for (int64_t d = 0; d < DEVICES; d++) {
    rt_cost cost;
    ir_error error = {0};
    assert_int_equal(rt_program_cost(p, &d, &cost, &error), IR_OK);
    assert_int_equal(cost.temp_bytes, LINES * sizeof(float));
  }
}

/* s = (part of the next device) + 1, n times: the parts go round. */
static void exchanges_in_a_loop(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref shape = flow_shape(f, 1, (int64_t)PART), x = flow_input(f, "a", IR_F32, shape),
         s = flow_param(f, IR_F32, shape);
  ir_ref next = ir_binary(g, IR_OP_ADD, from_next(f, s), flow_expand(f, flow_number(f, 1), shape));
  ir_ref scan = flow_scan(f, ir_func(g, FLOW_LIST(next), FLOW_LIST(s)), ir_index(g, 6),
                          (ir_scan_state){1, 0, false}, FLOW_LIST(x));
  on_mesh *m = open_mesh(flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, scan, 0))));
  run_mesh(m);
  for (int d = 0; d < DEVICES; d++)
    for (int i = 0; i < PART; i++) assert_true(m->out[d][i] == m->in[(d + 6) % DEVICES][i] + 6);
}

/* What the evaluator says of the devices. */
static void evaluated_apart(flow *f, ir_ref result, on_mesh *m, const char *says) {
  ir_eval_device devices[DEVICES];
  ir_binding_input inputs[DEVICES];
  ir_var_value vars[DEVICES];
  ir_eval_result out[DEVICES];
  ir_error error = {0};
  for (int d = 0; d < DEVICES; d++) {
    inputs[d] = (ir_binding_input){f->inputs[0], m->in[d]};
    vars[d] = (ir_var_value){coordinate(f), d};
    devices[d] = (ir_eval_device){&inputs[d], &vars[d], 1, 1};
  }
  assert_int_equal(ir_eval_devices(&f->g, &result, 1, devices, DEVICES, out, &error), IR_ERR_INVALID);
  assert_string_equal(error.text, says);
}

/* A loop that devices leave at different times: those that go on say so, and nothing hangs. */
static void devices_that_go_different_ways(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref shape = flow_shape(f, 1, (int64_t)PART), x = flow_input(f, "a", IR_F32, shape),
         s = flow_param(f, IR_F32, shape);
  ir_ref limit = flow_expand(f, flow_number(f, 25), shape);
  ir_ref below = ir_binary(g, IR_OP_LT, s, limit);
  ir_ref any =
      ir_make_tensor(g, IR_OP_ANY, IR_BOOL, flow_shape(f, 0), 0, (ir_ref[]){below, ir_index(g, 0)}, 2);
  ir_ref loop = flow_while(f, ir_func(g, FLOW_LIST(any), FLOW_LIST(s)),
                           ir_func(g, FLOW_LIST(from_next(f, s)), FLOW_LIST(s)), -1, 1, FLOW_LIST(x));
  on_mesh *m = open_mesh(flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, loop, 0))));
  ir_error error = {0};
  assert_int_equal(rt_mesh_run(m->program, m->arguments, &error), IR_ERR_INVALID);
  static const char first[] =
      "device 2 (x=2): exchange 1 (shift): device 3 (x=3) has ended before; what decides about "
      "exchanges must be the same on all devices";
  char said[sizeof first] = "";
  memcpy(said, error.text, sizeof said - 1); /* who waited for it meanwhile is a matter of chance */
  assert_string_equal(said, first);
  evaluated_apart(
      f, flow_result(f, loop, 0), m,
      "exchange: 1 of 4 devices have ended, others wait for their parts; what decides about exchanges "
      "must be the same on all devices");
}

/* A condition that differs: devices come to one of two exchanges. */
static void devices_at_different_exchanges(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref shape = flow_shape(f, 1, (int64_t)PART), x = flow_input(f, "a", IR_F32, shape),
         s = flow_param(f, IR_F32, shape), t = flow_param(f, IR_F32, shape);
  ir_ref below = ir_binary(g, IR_OP_LT, x, flow_expand(f, flow_number(f, 15), shape));
  ir_ref any =
      ir_make_tensor(g, IR_OP_ANY, IR_BOOL, flow_shape(f, 0), 0, (ir_ref[]){below, ir_index(g, 0)}, 2);
  ir_ref cond = flow_cond(f, ir_func(g, FLOW_LIST(from_next(f, s)), FLOW_LIST(s)),
                          ir_func(g, FLOW_LIST(from_next(f, ir_binary(g, IR_OP_ADD, t, t))), FLOW_LIST(t)),
                          FLOW_LIST(any, x));
  on_mesh *m = open_mesh(flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, cond, 0))));
  evaluated_apart(
      f, flow_result(f, cond, 0), m,
      "device 2: exchange: devices 0 and 2 come to different exchanges; what decides about them must be "
      "the same on all devices");
}

/* One device reads an index out of range: the message names it, and who waited for it. */
static void a_device_that_fails(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref shape = flow_shape(f, 1, (int64_t)PART), x = flow_input(f, "a", IR_F32, shape);
  ir_ref at = ir_cast(g, x, IR_I64); /* 0, 1, 2 on device 0; 10, 11, 12 on the next one */
  ir_ref data =
      ir_make_tensor(g, IR_OP_IOTA, IR_F32, flow_shape(f, 1, (int64_t)25), 0, (ir_ref[]){ir_index(g, 25)}, 1);
  ir_ref read = ir_make_tensor(g, IR_OP_GATHER, IR_F32, shape, ir_pack_args(0, IR_GATHER_CHECK, 0),
                               (ir_ref[]){data, at}, 2);
  on_mesh *m = open_mesh(flow_compile(f, c, NULL, FLOW_LIST(gather_all(f, read))));
  for (int i = 0; i < PART; i++) m->in[3][i] = m->in[0][i];
  for (int run = 0; run < 20; run++) {
    ir_error error = {0};
    bool fails = run % 2 == 0;
    m->in[2][1] = fails ? 99 : 21;
    assert_int_equal(rt_mesh_run(m->program, m->arguments, &error), fails ? IR_ERR_RANGE : IR_OK);
    if (!fails) continue;
    assert_non_null(strstr(error.text, "device 2 (x=2): graph @flow: launch"));
    if (strstr(error.text, " waited for"))
      assert_non_null(strstr(error.text, ") in exchange 1 (all_gather)"));
  }
}

static void what_no_device_has(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_ref x = flow_input(f, "a", IR_F32, flow_shape(f, 1, (int64_t)PART));
  on_mesh *m = open_mesh(flow_compile(f, c, NULL, FLOW_LIST(gather_all(f, x))));
  ir_error error = {0};
  m->vars[2] = 1; /* the place of another one */
  assert_int_equal(rt_mesh_run(m->program, m->arguments, &error), IR_ERR_INVALID);
  assert_string_equal(error.text,
                      "graph @flow: exchange all_gather: device 0 (x=0) needs the element at [6], which no "
                      "device has");
}

/* Programs and arguments that do not belong to the mesh. */
static void what_is_no_run_of_the_mesh(void **state) {
  (void)state;
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin(), *other = flow_begin();
  ir_ref x = flow_input(f, "a", IR_F32, flow_shape(f, 1, (int64_t)PART)),
         y = flow_input(other, "a", IR_F32, flow_shape(other, 1, (int64_t)PART));
  rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(gather_all(f, x))),
             *q = flow_compile(other, c, NULL, FLOW_LIST(from_next(other, y)));
  on_mesh *m = open_mesh(p);
  ir_error error = {0};
  rt_program *programs[DEVICES] = {p, p, q, p};
  rt_mesh_program *none;
  assert_int_equal(rt_mesh_program_make(m->mesh, programs, &none, &error), IR_ERR_INVALID);
  assert_string_equal(
      error.text, "graph @flow: the devices of a mesh run one graph, with the same exchanges in one order; "
                  "exchange 1 is all_gather on device 0 and shift on device 2");
  ir_error_clear(&error);
  m->arguments[3].vars = NULL;
  assert_int_equal(rt_mesh_run(m->program, m->arguments, &error), IR_ERR_INVALID);
  assert_string_equal(error.text, "graph @flow: device 3 has no values of variables");
  ir_error_clear(&error);
  assert_int_equal(rt_program_run(p, m->inputs, m->outputs, m->vars, &error), IR_ERR_INVALID);
  assert_string_equal(
      error.text, "graph @flow: exchange all_gather: no device holds all of what is asked for, and this one "
                  "runs alone; run the program on the mesh that it was made for");
  m->arguments[3].vars = &m->vars[3];
  run_mesh(m);
}

static void the_same_kernels_as_one_device(void **state) {
  uint32_t kernels[2];
  for (int parts = 0; parts < 2; parts++) {
    rt_context *c = p_context_with((rt_options){.no_disk = true});
    flow *f = flow_begin();
    ir_graph *g = &f->g;
    ir_ref x = flow_input(f, "a", IR_F32, flow_shape(f, 1, (int64_t)PART));
    ir_ref y = ir_binary(g, IR_OP_ADD, x, x);
    rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(parts ? from_next(f, y) : y));
    kernels[parts] = rt_program_stats(p).kernels;
    if (parts) run_mesh(open_mesh(p));
    assert_int_equal(rt_context_lookups(c).kernels, kernels[parts]); /* running compiles none */
  }
  assert_int_equal(kernels[0], kernels[1]);
}

static void any_allocation_may_fail(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_ref x = flow_input(f, "a", IR_F32, flow_shape(f, 1, (int64_t)PART));
  rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(gather_all(f, x))), *programs[DEVICES] = {p, p, p, p};
  on_mesh *m = open_mesh(p);
  bool done = false;
  for (long left = 0; !done; left++) {
    test_budget budget = {.left = left};
    ir_mem mem = {test_budget_hook, &budget};
    ir_error error = {0};
    rt_mesh_program *program = NULL;
    rt_mesh *mesh = mesh_of(&mem, &error);
    ir_status status = mesh ? rt_mesh_program_make(mesh, programs, &program, &error) : error.status;
    if (!status) status = rt_mesh_run(program, m->arguments, &error);
    done = !status;
    if (!done) assert_int_equal(status, IR_ERR_MEMORY);
    rt_mesh_program_free(program);
    rt_mesh_free(mesh);
    assert_int_equal(budget.live, 0);
  }
}

static void too_many_devices(void **state) {
  ir_mesh axes;
  ir_error error = {0};
  rt_mesh *mesh;
  ir_mesh_init(&axes, &ir_mem_libc);
  assert_true(ir_mesh_add(&axes, "x", 1, 300, &error));
  assert_int_equal(rt_mesh_make(&ir_mem_libc, &axes, false, NULL, NULL, &mesh, &error), IR_ERR_UNSUPPORTED);
  assert_string_equal(error.text, "a mesh of 300 devices: one process has at most 256 as threads");
  ir_mesh_free(&axes);
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, all_devices_get_all, operands_lie_in_results, exchanges_in_a_loop,
                   devices_that_go_different_ways, devices_at_different_exchanges, a_device_that_fails,
                   what_no_device_has, what_is_no_run_of_the_mesh, the_same_kernels_as_one_device,
                   any_allocation_may_fail, too_many_devices)
