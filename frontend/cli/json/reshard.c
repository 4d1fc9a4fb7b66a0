/* `viewfold reshard`: the cheapest way from one division of an array over devices to another. */
#include <inttypes.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/json/lines.h"
#include "frontend/cli/options.h"
#include "passes/reshard/reshard.h"

static const char help_text[] =
    "Usage: viewfold reshard --json < LINES.jsonl\n"
    "\n"
    "Prints for each line the cheapest steps that take an array from one division over the devices of a "
    "mesh\n"
    "to another, and the bytes that they move.\n"
    "\n"
    "  "
    "{\"id\":\"a\",\"mesh\":\"x2,y4\",\"shape\":[16,24],\"dtype\":\"f32\",\"from\":\"[y,x]\",\"to\":\"[-,y]"
    "\"}\n"
    "  "
    "{\"id\":\"a\",\"steps\":[{\"op\":\"exchange\",\"axes\":[\"x\",\"y\"],\"to\":\"[-,y]\",\"recv\":384}],\n"
    "   \"recv\":384,\"total\":2688,\"peak\":576,\"bound\":384,\"exact\":true}\n"
    "\n"
    "A line has\n"
    "  mesh       sizes of the axes: x2,y4 or x=2,y=4\n"
    "  shape      sizes of the array; dtype: f32, i8, ...\n"
    "  from, to   specs: [x.y,-] divides dimension 0 along x, then along y; x:(1)2 is the major digit of x; "
    "+y\n"
    "             behind from: each device along y holds a summand\n"
    "  mode       \"bytes\" (the default): what a device receives at most is least; \"time\": the steps take "
    "least\n"
    "  latency, bandwidth   of each axis, in seconds and bytes in a second, for mode time: [1e-6,1e-5]\n"
    "  limit      bytes that a device may hold\n"
    "and its answer\n"
    "  steps      op (slice, all_gather, all_to_all, reduce_scatter, all_reduce, permute, exchange), the "
    "axes\n"
    "             that take part, the spec after it, and what one device receives by it at most\n"
    "  recv       bytes that one device receives at most; total: all of them together\n"
    "  peak       most bytes that a device holds\n"
    "  bound      bytes that some device must receive, whatever the steps\n"
    "  exact      no other steps cost less\n"
    "  time       seconds that the steps take, in mode time\n"
    "\n"
    "Exit status: 0, or 2 when a line is wrong: it gives {\"id\":\"a\",\"error\":\"...\"}.\n";

#define EXAMPLE_LINE                                                                                         \
  "echo "                                                                                                    \
  "'{\"id\":\"a\",\"mesh\":\"x2\",\"shape\":[4,4],\"dtype\":\"f32\",\"from\":\"[x,-]\",\"to\":\"[-,x]\"}' "  \
  "| viewfold reshard --json"

typedef struct question {
  ir_mesh mesh;
  int64_t shape[IR_MAX_RANK];
  ir_spec from, to;
  pass_reshard_ask ask;
} question;

static bool read_mesh(const json_t *line, question *q, ir_error *error) {
  static const char *const lists[] = {"latency", "bandwidth"};
  const json_t *mesh = json_object_get(line, "mesh");
  if (!json_is_string(mesh)) return cli_json_expected(error, "mesh", mesh, "a string, as \"x2,y4\"");
  if (!ir_mesh_parse(&q->mesh, json_string_value(mesh), json_string_length(mesh), error)) return false;
  for (int i = 0; i < 2; i++) {
    const json_t *list = json_object_get(line, lists[i]);
    if (list && (!json_is_array(list) || json_array_size(list) != q->mesh.axis_count))
      return cli_json_expected(error, lists[i], list, "a list of one number for each axis of the mesh");
    for (uint32_t a = 0; list && a < q->mesh.axis_count; a++) {
      const json_t *number = json_array_get(list, a);
      double value = json_number_value(number);
      if (!json_is_number(number) || !(value > 0 && value < 1e18))
        return cli_json_expected(error, lists[i], number, "numbers above 0");
      *(i ? &q->mesh.axes[a].bandwidth : &q->mesh.axes[a].latency) = value;
    }
  }
  return true;
}

static bool read_shape(const json_t *line, question *q, ir_error *error) {
  const json_t *shape = json_object_get(line, "shape"), *dtype = json_object_get(line, "dtype");
  size_t rank = json_array_size(shape);
  if (!json_is_array(shape) || rank > IR_MAX_RANK)
    return cli_json_expected(error, "shape", shape, "a list of at most 16 sizes");
  for (size_t i = 0; i < rank; i++) {
    const json_t *size = json_array_get(shape, i);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
      return cli_json_expected(error, "shape", size, "a list of integers that are not negative");
    q->shape[i] = json_integer_value(size);
  }
  ir_dtype type = IR_NONE;
  if (json_is_string(dtype)) type = ir_dtype_parse(json_string_value(dtype), json_string_length(dtype));
  if (type == IR_NONE || !ir_dtypes[type].bytes)
    return cli_json_expected(error, "dtype", dtype, "f32, i8, or another dtype of arrays");
  q->ask.item = ir_dtypes[type].bytes;
  return true;
}

static bool read_spec(const json_t *line, const char *name, const question *q, ir_spec *out,
                      ir_error *error) {
  const json_t *text = json_object_get(line, name);
  if (!json_is_string(text)) return cli_json_expected(error, name, text, "a spec, as \"[x,-]\"");
  if (!ir_spec_parse(&q->mesh, json_string_value(text), json_string_length(text), out, error)) return false;
  size_t rank = json_array_size(json_object_get(line, "shape"));
  if (out->rank == rank) return true;
  ir_fail(
      error, IR_ERR_INVALID,
      "%s: found %u dimension%s, expected %zu, as the shape has: an entry for each axis, - where it is whole",
      name, (unsigned)out->rank, out->rank == 1 ? "" : "s", rank);
  return false;
}

static bool read_how(const json_t *line, question *q, ir_error *error) {
  const json_t *mode = json_object_get(line, "mode"), *limit = json_object_get(line, "limit");
  const char *text = mode ? json_string_value(mode) : "bytes";
  bool time = text && !strcmp(text, "time");
  if (!text || (!time && strcmp(text, "bytes") != 0))
    return cli_json_expected(error, "mode", mode, "\"bytes\" or \"time\"");
  q->ask.mode = time ? PASS_RESHARD_TIME : PASS_RESHARD_BYTES;
  if (limit && (!json_is_integer(limit) || json_integer_value(limit) < 1))
    return cli_json_expected(error, "limit", limit, "a number of bytes, at least 1");
  q->ask.limit = limit ? (uint64_t)json_integer_value(limit) : 0;
  return true;
}

static bool read_question(const json_t *line, question *q, ir_error *error) {
  if (!json_is_object(line)) return cli_json_expected(error, "line", line, "an object");
  q->ask = (pass_reshard_ask){.mesh = &q->mesh, .shape = q->shape, .from = &q->from, .to = &q->to};
  return read_mesh(line, q, error) && read_shape(line, q, error) &&
         read_spec(line, "from", q, &q->from, error) && read_spec(line, "to", q, &q->to, error) &&
         read_how(line, q, error);
}

static json_t *text_of(ir_text *text) {
  json_t *made = json_stringn(ir_text_get(text), text->len);
  text->len = 0;
  return made;
}

static json_t *step_of(const ir_mesh *mesh, const pass_reshard_step *step, ir_text *text) {
  json_t *made = json_object(), *axes = json_array();
  uint32_t count;
  const ir_subaxis *on = ir_spec_axes(&step->on, 0, &count);
  for (uint32_t i = 0; i < count; i++) {
    ir_subaxis_print(mesh, on[i], text);
    json_array_append_new(axes, text_of(text));
  }
  ir_spec_print(mesh, &step->to, text);
  json_object_set_new(made, "op", json_string(pass_reshard_names[step->kind]));
  json_object_set_new(made, "axes", axes);
  json_object_set_new(made, "to", text_of(text));
  json_object_set_new(made, "recv", json_integer((json_int_t)step->cost.recv));
  return made;
}

static void write_plan(const question *q, const pass_reshard_plan *plan, ir_text *text, json_t *answer) {
  static const double picoseconds = 1e12;
  json_t *steps = json_array();
  for (uint32_t i = 0; i < plan->count; i++)
    json_array_append_new(steps, step_of(&q->mesh, &plan->steps[i], text));
  json_object_set_new(answer, "steps", steps);
  json_object_set_new(answer, "recv", json_integer((json_int_t)plan->cost.recv));
  json_object_set_new(answer, "total", json_integer((json_int_t)plan->cost.total));
  json_object_set_new(answer, "peak", json_integer((json_int_t)plan->cost.peak));
  json_object_set_new(answer, "bound", json_integer((json_int_t)plan->bound));
  json_object_set_new(answer, "exact", json_boolean(plan->exact));
  if (q->ask.mode == PASS_RESHARD_TIME)
    json_object_set_new(answer, "time", json_real((double)plan->cost.time / picoseconds));
}

static bool answer_line(void *user, const json_t *line, json_t *answer, ir_error *error) {
  (void)user;
  question q;
  pass_reshard_plan plan;
  ir_text text;
  ir_mesh_init(&q.mesh, &ir_mem_libc);
  ir_text_init(&text, &ir_mem_libc);
  bool good = read_question(line, &q, error) && pass_reshard(&ir_mem_libc, &q.ask, &plan, error) == IR_OK;
  if (good) write_plan(&q, &plan, &text, answer);
  if (text.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory"), good = false;
  ir_text_free(&text);
  ir_mesh_free(&q.mesh);
  return good;
}

int cli_reshard(int argc, char **argv) {
  bool json = false;
  int status = cli_read_switch(help_text, "--json",
                               "it reads lines of JSON from standard input; found '%s'; as in " EXAMPLE_LINE,
                               argc, argv, &json);
  if (status != CLI_END) return status;
  if (!json) return cli_usage("reshard", "it reads lines of JSON from standard input, as in " EXAMPLE_LINE);
  const cli_json_command command = {"reshard", "id", true, answer_line, NULL};
  return cli_json_lines(&command, stdin, stdout);
}
