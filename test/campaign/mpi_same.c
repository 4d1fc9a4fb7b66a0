/* Random graphs, and changes of division, on meshes whose devices are threads, and on those of the processes
 * that MPI has started: the same bytes. One call runs many graphs.
 *
 *   mpi_same RECORD [--seed N] [--count N] [--reshards LIST] [--offered BYTES]
 *
 * Where no launcher has started it, it runs with threads and writes RECORD, a line for each run. Each process
 * of several compares what it gets with the record: whole results, and the parts of its devices. A third of
 * the graphs are of every operation, a third have control flow and its derivatives, a third are single
 * operations, their derivatives and batches. In half of the cases the mesh says which process has which
 * device. Messages of at least so many bytes are read from where they lie (0 where not given): of these
 * graphs nearly all are small. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "frontend/mesh/processes.h"
#include "frontend/mesh/sharded.h"
#include "frontend/text/reader.h"
#include "ir/mesh/sharding.h"
#include "runtime/context.h"
#include "runtime/mesh/box.h"
#include "runtime/mesh/post.h"
#include "runtime/mpi/mpi.h"
#include "test/lib/cases.h"
#include "test/lib/mesh_case.h"

enum { DEVICES = 8, MOST_ARRAYS = 64, LINE = 64 + 17 * (DEVICES + 1) };

static const char *const meshes[] = {"x=4",     "x=6",         "x=8",       "x=2,y=2",   "x=2,y=3",
                                     "x=2,y=4", "x=2,y=2,z=2", "x=3:1:1:2", "x=2:1,y=2", NULL};
enum { GRAPHS_OF_CONTEXT = 8 }; /* then another one joins the processes, which leave at different times */

/* What a run gave: statuses, and hashes of what has none. */
typedef struct outcome {
  ir_status made, whole_status, parts_status;
  uint32_t devices;
  uint64_t whole, parts[DEVICES];
  bool here[DEVICES];
} outcome;

static vf_context *recording; /* records graphs, runs nothing */
static rt_context *context;
static FILE *record;
static bool joined;
static long graphs, reshards, parts, collectives, refused;

/* runs */

typedef struct arrays {
  void *list[MOST_ARRAYS * DEVICES];
  size_t bytes[MOST_ARRAYS * DEVICES];
  size_t count;
} arrays;

static void *add(arrays *a, size_t bytes) {
  a->bytes[a->count] = bytes;
  return a->list[a->count++] = calloc(bytes + 1, 1);
}
static void free_all(arrays *a) {
  for (size_t i = 0; i < a->count; i++) free(a->list[i]);
}

static size_t element_bytes(const fe_sharded *s, bool result, size_t i) {
  ir_ref x = result ? s->parts.results[i].global : s->parts.inputs[i].global;
  return ir_dtypes[ir_dtype_of(&s->graph, x)].bytes;
}

static ir_status run_whole(fe_sharded *s, const mesh_case *c, const int64_t *sizes, outcome *o) {
  void *in[MESH_CASE_INPUTS];
  arrays out = {0};
  ir_error error = {0};
  ir_status status = IR_OK;
  for (size_t i = 0; i < c->input_count; i++) in[i] = (void *)(uintptr_t)c->inputs[i].data;
  for (size_t i = 0; i < s->parts.result_count && !status; i++) {
    ir_box box = {0};
    status = fe_sharded_shape(s, true, i, sizes, &box.rank, box.hi, &error);
    if (!status) add(&out, (size_t)ir_box_elements(&box) * element_bytes(s, true, i));
  }
  if (!status) status = fe_sharded_run(s, in, out.list, sizes, &error);
  for (size_t i = 0; i < out.count; i++) o->whole = XXH3_64bits_withSeed(out.list[i], out.bytes[i], o->whole);
  free_all(&out);
  return status;
}

/* The part of an input: of a pending one every device gets the same summand. */
static ir_status cut(fe_sharded *s, const mesh_case *c, size_t input, uint32_t device, const int64_t *sizes,
                     arrays *to) {
  ir_box box, whole = {0};
  ir_error error = {0};
  size_t bytes = element_bytes(s, false, input);
  ir_status status = fe_sharded_part(s, false, input, device, sizes, &box, &error);
  if (!status) status = fe_sharded_shape(s, false, input, sizes, &whole.rank, whole.hi, &error);
  if (status) return status;
  bool empty = rt_box_is_empty(&box);
  void *part = add(to, empty ? 0 : (size_t)ir_box_elements(&box) * bytes);
  if (!empty) rt_box_copy(&box, bytes, &whole, c->inputs[input].data, &box, part);
  return IR_OK;
}

static ir_status run_parts(fe_sharded *s, const mesh_case *c, const int64_t *sizes, outcome *o) {
  arrays in = {0}, out = {0};
  ir_error error = {0};
  ir_status status = IR_OK;
  for (uint32_t d = 0; d < o->devices; d++) {
    o->here[d] = rt_mesh_has(s->mesh, d);
    for (size_t i = 0; i < c->input_count && !status; i++)
      if (o->here[d]) status = cut(s, c, i, d, sizes, &in);
      else in.list[in.count++] = NULL;
    for (size_t i = 0; i < s->parts.result_count && !status; i++) {
      ir_box box;
      status = fe_sharded_part(s, true, i, d, sizes, &box, &error);
      size_t count = status || rt_box_is_empty(&box) ? 0 : (size_t)ir_box_elements(&box);
      if (o->here[d]) add(&out, count * element_bytes(s, true, i));
      else out.list[out.count++] = NULL;
    }
  }
  if (!status) status = fe_sharded_run_parts(s, in.list, out.list, sizes, &error);
  for (size_t i = 0, n = s->parts.result_count; i < out.count; i++)
    if (out.list[i]) o->parts[i / n] = XXH3_64bits_withSeed(out.list[i], out.bytes[i], o->parts[i / n]);
  free_all(&in);
  free_all(&out);
  return status;
}

/* In a third of the cases messages have times, as long as computing a few elements: pieces are sent. */
static bool set_times(mesh_case *c, uint64_t seed) {
  ir_mesh mesh;
  if (seed % 9 > 2) return true; /* of each kind of graph */
  if (!ir_mesh_copy(&mesh, ir_graph_mesh(c->g), &ir_mem_libc)) return false;
  for (uint32_t a = 0; a < mesh.axis_count; a++) mesh.axes[a].latency = 1e-12, mesh.axes[a].bandwidth = 1e12;
  bool good = ir_graph_set_mesh(c->g, &mesh);
  ir_mesh_free(&mesh);
  return good;
}

/* In half of the cases each process has devices that the seed draws, and each one at least. */
static bool place(mesh_case *c, uint64_t seed, uint32_t processes) {
  ir_mesh mesh;
  ir_mesh_device devices[DEVICES];
  ir_error error = {0};
  if (seed % 2) return true;
  if (!ir_mesh_copy(&mesh, ir_graph_mesh(c->g), &ir_mem_libc)) return false;
  for (uint32_t d = 0; d < mesh.device_count; d++)
    devices[d] = (ir_mesh_device){.name = "cpu",
                                  .rank = d < processes ? processes - 1 - d
                                                        : (uint32_t)(random_next(&seed) % processes)};
  bool good = ir_mesh_place(&mesh, devices, mesh.device_count, &error) && ir_graph_set_mesh(c->g, &mesh);
  ir_mesh_free(&mesh);
  return good;
}

static void run_case(const mesh_case *c, outcome *o) {
  fe_sharded s = {0};
  ir_error error = {0};
  ir_ref inputs[MESH_CASE_INPUTS], vars[RANDOM_VARS];
  int64_t sizes[RANDOM_VARS] = {0};
  for (size_t i = 0; i < c->input_count; i++) inputs[i] = c->inputs[i].ref;
  for (size_t i = 0; i < c->var_count; i++) vars[i] = c->vars[i].ref, sizes[i] = c->vars[i].value;
  fe_request r = {.graph = c->g,
                  .results = c->root,
                  .inputs = inputs,
                  .input_count = c->input_count,
                  .vars = vars,
                  .var_count = c->var_count,
                  .name = "case"};
  o->devices = (uint32_t)ir_graph_mesh(c->g)->device_count;
  o->made = fe_sharded_make(context, &r, false, &s, &error);
  if (o->made) fprintf(stderr, "%s\n", error.text);
  for (size_t i = 0; i < s.parts.note_count && !o->made; i++) collectives += s.parts.notes[i].exchange != 0;
  if (!o->made) o->whole_status = run_whole(&s, c, sizes, o);
  if (!o->made) o->parts_status = run_parts(&s, c, sizes, o);
  fe_sharded_free(&s);
}

/* the record */

static void write_line(const outcome *o, uint64_t seed) {
  fprintf(record, "%" PRIu64 " %d %d %d %016" PRIx64, seed, o->made, o->whole_status, o->parts_status,
          o->whole);
  for (uint32_t d = 0; d < o->devices; d++) fprintf(record, " %016" PRIx64, o->parts[d]);
  fputc('\n', record);
}

static bool differs(const char *what, uint64_t got, uint64_t want) {
  if (got == want) return false;
  printf("%s: %" PRIx64 ", by threads %" PRIx64 "\n", what, got, want);
  return true;
}

static bool as_recorded(const outcome *o, uint64_t seed) {
  char line[LINE], *at = line;
  if (!fgets(line, sizeof line, record)) return differs("lines", 0, 1), false;
  bool good = !differs("seed", seed, strtoull(at, &at, 10));
  good &= !differs("status of compiling", o->made, strtoull(at, &at, 10));
  good &= !differs("status of a run", o->whole_status, strtoull(at, &at, 10));
  good &= !differs("status of a run on parts", o->parts_status, strtoull(at, &at, 10));
  uint64_t whole = strtoull(at, &at, 16);
  if (!o->whole_status) good &= !differs("whole results", o->whole, whole);
  for (uint32_t d = 0; d < o->devices; d++) {
    uint64_t part = strtoull(at, &at, 16);
    if (!o->here[d] || o->parts_status) continue;
    good &= !differs("parts", o->parts[d], part);
    parts++;
  }
  return good;
}

static bool try_case(mesh_case *c, bool made, uint64_t seed) {
  outcome o = {0};
  uint32_t processes = joined ? rt_post_transport(rt_context_post(context))->processes : 1;
  made = made && set_times(c, seed) && (!joined || place(c, seed, processes));
  if (made && c->root) run_case(c, &o);
  refused += o.made || o.parts_status;
  bool good = made && (joined ? as_recorded(&o, seed) : (write_line(&o, seed), true));
  if (!good) mesh_case_show(c), printf("(mpi_same --case %" PRIu64 ")\n", seed);
  mesh_case_free(c);
  return good;
}

static bool open_context(void);

static bool try_graph(uint64_t seed) {
  mesh_case c;
  if (graphs && graphs % GRAPHS_OF_CONTEXT == 0) {
    rt_context_destroy(context);
    if (!open_context()) return false;
  }
  bool made = seed % 3 == 0   ? mesh_case_of_graph(&c, seed, meshes)
              : seed % 3 == 1 ? mesh_case_of_control(&c, recording, seed, meshes)
                              : mesh_case_of_row(&c, seed, meshes);
  graphs++;
  return try_case(&c, made, seed);
}

/* changes of division */

/* A line as in test/conform/reshard_xla.list: x2,y2,z2 48,96 [-,y]+x [y,x] 123. */
static bool parse_line(mesh_case *c, char *line, ir_module *module) {
  const char *mesh = strtok(line, " "), *shape = strtok(NULL, " "), *from = strtok(NULL, " "),
             *to = strtok(NULL, " ");
  char *pending = from ? strchr(from, '+') : NULL;
  int summands = 1;
  ir_text text;
  if (!to) return false;
  ir_text_init(&text, &ir_mem_libc);
  ir_text_str(&text, "mesh @m [");
  for (const char *m = mesh; *m; m++) {
    ir_text_add(&text, m, 1);
    if (m[1] >= '0' && m[1] <= '9') ir_text_str(&text, "=");
  }
  if (pending) *pending++ = '\0';
  for (const char *p = pending; p && *p; p++) summands *= *p == '.' ? 1 : 2;
  if (pending)
    ir_textf(&text, "]\ngraph @g(%%x: f32[%d,%s] @m[%s,%s) {\n  %%s = sum %%x axes=[0] : f32[%s] @m%s+%s\n",
             summands, shape, pending, from + 1, shape, from, pending);
  else ir_textf(&text, "]\ngraph @g(%%x: f32[%s] @m%s) {\n  %%s = stored %%x\n", shape, from);
  ir_textf(&text, "  %%y = shard %%s to=%s\n  return %%y\n}\n", to);
  ir_graph_init(&c->single, &ir_mem_libc, &c->error);
  c->g = &c->single;
  bool good = fe_parse_graphs(c->g, "reshard", ir_text_get(&text), text.len, module) == IR_OK;
  ir_text_free(&text);
  return good;
}

static bool try_reshard(char *line, uint64_t number) {
  mesh_case c = {0};
  ir_module module = {0};
  uint64_t state = number;
  bool made = parse_line(&c, line, &module);
  if (made) {
    ir_ref x = module.graphs[0].params[0].ref;
    int64_t count = 1, size;
    for (uint32_t k = 0; k < ir_rank(c.g, x); k++)
      if (ir_is_const(c.g, ir_dim(c.g, x, k), &size)) count *= size;
    float *data = calloc((size_t)count, sizeof *data);
    for (int64_t i = 0; i < count; i++) data[i] = (float)random_between(&state, -1000, 1000) / 7;
    c.inputs[c.input_count++] = (ir_binding_input){x, data};
    c.root = ir_tuple(c.g, &module.graphs[0].results[0].ref, 1);
  }
  ir_module_free(&module);
  reshards++;
  return try_case(&c, made, number);
}

static long try_reshards(const char *path) {
  char line[256];
  long failed = 0;
  FILE *list = fopen(path, "r");
  if (!list) return fprintf(stderr, "%s is not here\n", path), 1;
  while (fgets(line, sizeof line, list))
    if (*line != '#') failed += !try_reshard(line, (uint64_t)reshards);
  fclose(list);
  return failed;
}

static bool open_context(void) {
  ir_error error = {0};
  rt_options options = {.threads = 1};
  context = NULL;
  bool good = rt_context_create(&ir_mem_libc, &options, &context, &error) == IR_OK &&
              (!joined || fe_processes_join(context, 120, &error) == IR_OK);
  if (!good) fprintf(stderr, "%s\n", error.text);
  return good;
}

static bool open_contexts(void) {
  vf_error api = {0};
  joined = rt_mpi_is_launched();
  recording = vf_context_create(NULL, &api);
  if (!recording) fprintf(stderr, "%s\n", api.message);
  return recording && open_context();
}

int main(int argc, char **argv) {
  const char *reshards_of = NULL;
  long offered = 0;
  const option more[] = {{"--reshards", OPTION_TEXT, &reshards_of}, {"--offered", OPTION_LONG, &offered}};
  if (argc < 2)
    return fprintf(stderr, "mpi_same RECORD [--seed N] [--count N] [--reshards LIST] [--offered BYTES]\n"), 2;
  cases given = cases_read_with(argc - 1, argv + 1, 30, more, 2);
  if (!open_contexts()) return 2;
  if (joined) rt_post_offer_from(rt_context_post(context), (size_t)offered);
  record = fopen(argv[1], joined ? "r" : "w");
  if (!record) return fprintf(stderr, "%s cannot be opened\n", argv[1]), 2;
  cases_run(&given, try_graph);
  if (reshards_of) given.failed += try_reshards(reshards_of);
  if (fclose(record)) given.failed++;
  uint32_t number = joined ? rt_post_transport(rt_context_post(context))->process : 0;
  if (number == 0 || given.failed)
    printf("mpi_same: %s, %ld graphs, %ld reshards, %ld collectives, %ld parts, %ld that fail, %ld differ\n",
           joined ? rt_post_transport(rt_context_post(context))->name : "threads", graphs, reshards,
           collectives, parts, refused, given.failed);
  rt_context_destroy(context);
  vf_context_destroy(recording);
  return given.failed != 0 || collectives == 0;
}
