/* `viewfold build`: a graph as an object file and a C header. Both files are written or none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/references.h"
#include "frontend/build/build.h"
#include "frontend/cli/bind.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/options.h"
#include "frontend/cli/progress.h"
#include "frontend/files/atomic_file.h"

static const char help_text[] =
    "Usage: viewfold build FILE.vf|MODEL.onnx -o MODEL.o --header MODEL.h [OPTIONS]\n"
    "\n"
    "Compiles a graph ahead of time, to an object file that a C or C++ program links: it needs no "
    "libviewfold "
    "and no C\n"
    "library, allocates nothing and has no state. Weights and literal arrays are in it.\n"
    "\n"
    "  $ viewfold build blur.vf -o blur.o --header blur.h\n"
    "  $ cat main.c\n"
    "  #include \"blur.h\"\n"
    "  static float x[480 * 640], h[480 * 640];\n"
    "  int main(void) {\n"
    "    blur_arrays arrays = {x, h};\n"
    "    return blur_run(&arrays, 0);\n"
    "  }\n"
    "  $ cc main.c blur.o\n"
    "\n"
    "The header says what to give: a struct of the arrays, in the order of the graph's parameters and "
    "results; "
    "sizes that\n"
    "are variables; and memory for intermediates, of blur_ARENA_BYTES, or for variable sizes of "
    "blur_arena_bytes().\n"
    "\n"
    "Options:\n"
    "  -o FILE            an object; by the end of its name also an archive (.a), a shared object (.so),\n"
    "                     assembler (.s) or C (.c)\n"
    "  --header FILE      the header\n"
    "  --name NAME        what public names begin with, a C identifier; otherwise the graph's name\n"
    "  --graph NAME       which graph, if the file holds several\n"
    "  --target SETTINGS  build for another machine: a processor, `name=value` settings, or both, as for\n"
    "                     `viewfold dump`; otherwise for this one. Several, with commas between: the object\n"
    "                     takes what the processor has that it runs on (x86-64)\n"
    "  --weights FILE     constants go to this file, not to the object; the function takes the address where "
    "it is "
    "in memory\n"
    "  --threads          the function takes a struct with a parallel_for of the caller's, by whose threads "
    "loops are shared\n"
    "  --in NAME=VALUE    the value of a model's input that the importer must know, such as a shape\n"
    "\n"
    "Exit status: 0; 2 when the input is wrong or of a kind that has no object; 3 when it cannot be "
    "compiled.\n";

typedef struct build {
  const char *word, *object, *header, *name, *graph, *target, *threads, *weights;
  cli_pairs given;
  cli_graph s;
  rt_context *context;
  fe_targets targets;
  fe_built built;
} build;

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length > tail && !strcmp(text + length - tail, end);
}

static cg_output want_of(const char *name) {
  return ends_with(name, ".s") ? CG_ASM : ends_with(name, ".c") ? CG_C : CG_OBJECT;
}

static int check(const build *b) {
  if (!b->word) return cli_usage("build", "no file given; for example: viewfold build blur.vf -o blur.o");
  if (!b->object) return cli_usage("build", "-o FILE is missing: where the object goes");
  if (!ends_with(b->object, ".o") && !ends_with(b->object, ".s") && !ends_with(b->object, ".a") &&
      !ends_with(b->object, ".so") && !ends_with(b->object, ".c"))
    return cli_usage("build",
                     "-o %s: the name must end with .o for an object, .a for an archive, .so for a shared "
                     "object, .s for assembler or .c for C",
                     b->object);
  if (b->name && !fe_is_identifier(b->name))
    return cli_usage("build", "--name %s: a C identifier is needed, of letters, digits and _", b->name);
  return cli_graph_no_values("build", b->word, &b->given);
}

static int open_targets(build *b) {
  rt_options options;
  int status = cli_context_options("build", NULL, "cpu", &options);
  if (status) return status;
  if (rt_context_create(&ir_mem_libc, &options, &b->context, &b->s.error) == IR_OK)
    fe_targets_open(b->context, b->target, &b->targets, &b->s.error);
  return CLI_OK;
}

/* The request, with the references of the graph. */
static void build_block(build *b, const ir_parsed_graph *block, ir_ref results) {
  ir_ref *inputs = malloc((block->param_count + 1) * sizeof *inputs);
  pass_reference *references = malloc((block->param_count + 1) * sizeof *references);
  size_t outputs = 0;
  while (outputs < block->result_count && !block->results[outputs].reference) outputs++;
  for (size_t i = 0; inputs && i < block->param_count; i++) inputs[i] = block->params[i].ref;
  if (inputs && references) {
    fe_request request = {.graph = &b->s.g,
                          .results = results,
                          .inputs = inputs,
                          .input_count = block->param_count,
                          .references = references,
                          .vars = block->vars,
                          .var_count = block->var_count,
                          .name = block->name,
                          .observer = fe_watch_observer(&b->s.watch),
                          .constants = cli_model_constants(&b->s)};
    request.reference_count = fe_list_references(block->params, block->param_count, block->results,
                                                 block->result_count, references);
    fe_ports ports = {&request, block->params, block->results, outputs};
    fe_build_options options = {b->name, want_of(b->object), b->threads != NULL, b->weights != NULL,
                                &ir_mem_libc};
    fe_build(&b->targets, &ports, &options, &b->built, &b->s.error);
  } else {
    ir_fail(&b->s.error, IR_ERR_MEMORY, "out of memory");
  }
  free(inputs);
  free(references);
}

/* Opens and writes a file that was asked for. */
static void write_file(build *b, fe_atomic_file *file, const char *path, const void *bytes, size_t size) {
  if (!path || b->s.error.status) return;
  if (fe_atomic_open(file, path, &b->s.error) == IR_OK) fe_atomic_write(file, bytes, size, &b->s.error);
}

/* The object as an archive or a shared object, where the name asks for one. */
static ir_status pack(build *b) {
  fe_built *built = &b->built;
  ir_text archive;
  if (ends_with(b->object, ".so")) {
    cg_blob linked = {.mem = &ir_mem_libc};
    ir_status status = fe_link_shared(built, &linked, &b->s.error);
    cg_blob_free(&built->object);
    built->object = linked;
    return status;
  }
  if (!ends_with(b->object, ".a")) return IR_OK;
  ir_text_init(&archive, &ir_mem_libc);
  if (fe_archive(built, &archive, &b->s.error) == IR_OK) {
    cg_blob_free(&built->object);
    built->object = (cg_blob){.mem = &ir_mem_libc, .bytes = malloc(archive.len + 1), .size = archive.len};
    if (built->object.bytes) memcpy(built->object.bytes, ir_text_get(&archive), archive.len);
    else ir_fail(&b->s.error, IR_ERR_MEMORY, "out of memory");
  }
  ir_text_free(&archive);
  return b->s.error.status;
}

static int write_files(build *b) {
  enum { FILES = 3 }; /* object, header, weights */
  fe_atomic_file files[FILES] = {{.fd = -1}, {.fd = -1}, {.fd = -1}};
  const char *paths[FILES] = {b->object, b->header, b->weights};
  write_file(b, &files[0], b->object, b->built.object.bytes, b->built.object.size);
  write_file(b, &files[1], b->header, b->built.header.data, b->built.header.len);
  write_file(b, &files[2], b->weights, b->built.weights.bytes, b->built.weights.size);
  for (int i = 0; i < FILES; i++)
    if (paths[i] && !b->s.error.status) fe_atomic_commit(&files[i], &b->s.error);
  for (int i = 0; i < FILES; i++) fe_atomic_abandon(&files[i]);
  return b->s.error.status ? cli_failure("build", &b->s.error) : CLI_OK;
}

static int build_command(build *b) {
  int status = cli_graph_open(&b->s, "build", b->word, false, &b->given);
  if (status) return status;
  const ir_parsed_graph *block = cli_graph_pick(&b->s, b->word, b->graph);
  if (!block) return CLI_BAD_INPUT;
  ir_ref results = cli_graph_results(&b->s, block);
  if (!results) return CLI_BAD_INPUT;
  status = open_targets(b);
  cli_work_show();
  if (!status && !b->s.error.status) build_block(b, block, results);
  cli_work_hide();
  if (status) return status;
  if (cli_interrupted()) ir_cancelled(&b->s.error);
  if (!b->s.error.status) pack(b);
  return b->s.error.status ? cli_failure("build", &b->s.error) : write_files(b);
}

int cli_build(int argc, char **argv) {
  build b = {0};
  const cli_option options[] = {
      {"-o", "a file", cli_last, &b.object},         {"--header", "a file", cli_last, &b.header},
      {"--name", "a name", cli_last, &b.name},       {"--graph", "a name", cli_last, &b.graph},
      {"--target", "settings", cli_last, &b.target}, {"--weights", "a file", cli_last, &b.weights},
      {"--threads", NULL, cli_last, &b.threads},     {"--in", "NAME=VALUE", cli_pairs_add, &b.given}};
  int status = cli_read_word(help_text, options, sizeof options / sizeof *options, &b.word,
                             "one file at a time, found '%s' as well", argc, argv);
  if (status == CLI_END && (status = check(&b)) == CLI_OK) {
    status = build_command(&b);
    fe_built_free(&b.built);
    fe_targets_close(&b.targets);
    rt_context_destroy(b.context);
    cli_graph_close(&b.s);
  }
  cli_pairs_free(&b.given);
  return status;
}
