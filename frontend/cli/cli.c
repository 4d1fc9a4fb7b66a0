/* The command `viewfold`: finds the subcommand, runs it, and returns its exit status. */
#define _GNU_SOURCE /* environ */
#include "frontend/cli/cli.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frontend/cli/options.h"
#include "frontend/text/nearest.h"

typedef struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
} command;

static const command commands[] = {
    {"index", cli_index, "print where a chain of views reads its buffer, as an expression"},
    {"run", cli_run, "compile a graph and run it on arrays"},
    {"check", cli_check_command,
     "compare a graph's results with the reference evaluator, and make what differs small"},
    {"dump", cli_dump, "print a graph as it stands at a stage of compilation"},
    {"pass", cli_pass, "run one step of compiling on a text"},
    {"show", cli_show, "write a page that shows views, addresses, kernels and code"},
    {"build", cli_build, "compile a graph ahead of time, to an object file and a C header"},
    {"import", cli_import, "write an ONNX model as a graph, with its weights beside it"},
    {"explain", cli_explain, "say why a graph's kernels are what they are, and what is left in their loops"},
    {"bench", cli_bench, "measure workloads: as a table, for a harness, or once"},
    {"tune", cli_tune, "search for faster loops by measuring, and keep what was found"},
    {"cache", cli_cache, "show, prune or verify the compiled kernels kept on disk"},
    {"devices", cli_devices, "list what graphs can run on"},
    {"rules", cli_rules, "print the rules that simplify index expressions, with their reasons"},
    {"ops", cli_ops, "print what is known of each operation: dtypes, shapes, derivatives, sharding, cost"},
    {"mesh", cli_mesh, "measure what messages between the devices of a mesh cost"},
    {"reshard", cli_reshard, "print the cheapest way from one division of an array over devices to another"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *out) {
  fputs("viewfold folds chains of tensor views into index expressions, and runs graphs of tensor "
        "operations.\n\n"
        "Usage: viewfold COMMAND ...\n\n"
        "Commands:\n",
        out);
  for (size_t i = 0; i < COMMANDS; i++) fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
  fputs("\n"
        "  viewfold COMMAND --help   options of a command, with examples\n"
        "  viewfold --version\n\n"
        "Try it:\n"
        "  $ viewfold index 'f32[3,2].permute(1,0)'\n"
        "  (ridx0+(ridx1*2))\n\n"
        "Exit status: 0 done; 1 a check failed; 2 bad usage or bad input; 3 device or compiler failure.\n",
        out);
}

static const command *find_command(const char *name) {
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

/* Commands as other compilers and interpreters call them. */
#define BUILD "`viewfold build FILE.vf` makes an object file, and `viewfold run` compiles by itself"
#define RUN   "`viewfold run FILE.vf` compiles a graph and runs it"
static const struct {
  const char *name, *instead;
} elsewhere[] = {
    {"compile", BUILD},
    {"jit", RUN},
    {"exec", RUN},
    {"execute", RUN},
    {"eval", RUN},
    {"evaluate", RUN},
    {"start", RUN},
    {"test", "`viewfold check FILE.vf` compares a graph with its evaluation"},
    {"verify", "`viewfold check FILE.vf` compares a graph with its evaluation"},
    {"export",
     "`viewfold build FILE.vf` makes an object file, and `viewfold import MODEL.onnx -o FILE.vf` a text"},
    {"convert", "`viewfold import MODEL.onnx -o FILE.vf` makes a text of a model"},
    {"profile", "`viewfold run --profile` tells where time goes"},
    {"time", "`viewfold run --time` measures"},
    {"clean", "`viewfold cache prune --max 0` removes what is kept"},
};
#undef BUILD
#undef RUN

static int fail_unknown_command(const char *name) {
  const char *names[COMMANDS + 2];
  for (size_t i = 0; i < COMMANDS; i++) names[i] = commands[i].name;
  names[COMMANDS] = "--help", names[COMMANDS + 1] = "--version";
  const char *near = fe_nearest(name, strlen(name), names, COMMANDS + 2);
  const char *kind = name[0] == '-' ? "option" : "command";
  if (strpbrk(name, ".[/") && name[0] != '-')
    return cli_usage("", "'%s' in place of a command; a command comes first, as in: viewfold run %s", name,
                     name);
  if (strcmp(name, "-v") == 0 || strcmp(name, "-V") == 0) near = "--version";
  if (near) return cli_usage("", "unknown %s '%s'; did you mean %s?", kind, name, near);
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
    if (strcmp(elsewhere[i].name, name) == 0)
      return cli_usage("", "unknown command '%s'; %s", name, elsewhere[i].instead);
  char list[400];
  return cli_usage("", "unknown %s '%s'; the commands are %s", kind, name,
                   cli_word_list(names, COMMANDS, list, sizeof list));
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    help(stderr);
    return CLI_BAD_INPUT;
  }
  const char *name = argv[1];
  if (strcmp(name, "--version") == 0) {
    puts("viewfold " VIEWFOLD_VERSION);
    return CLI_OK;
  }
  bool asks = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
  if (asks && argc == 2) {
    help(stdout);
    return CLI_OK;
  }
  const command *c = find_command(asks ? argv[2] : name);
  if (!c) return fail_unknown_command(asks ? argv[2] : name);
  char *words[] = {argv[1], (char[]){"--help"}, NULL};
  words[0] = asks ? argv[2] : argv[1];
  return asks ? c->run(2, words) : c->run(argc - 1, argv + 1);
}

/* Variables as others call them. */
static const char *const called_here[][2] = {
    {"NUM_THREADS", "THREADS"},    {"CACHE", "CACHE_DIR"}, {"CACHE_PATH", "CACHE_DIR"},
    {"CACHE_SIZE", "CACHE_BYTES"}, {"LOG", "DEBUG=log"},   {"VERBOSE", "DEBUG=log"},
    {"BACKEND", "DEVICE"},         {"PLATFORM", "DEVICE"},
};

/* Says which variables of the environment are none of ours, but nearly. */
static void note_variables(void) {
  static const char *const names[] = {"CACHE_BYTES",     "CACHE_DIR",    "COMPILE", "COMPILE_BYTES",
                                      "COMPILE_SECONDS", "DEBUG",        "DEVICE",  "MACHINE",
                                      "MESH_COSTS",      "MESH_SECONDS", "MPI",     "THREADS"};
  enum { PREFIX = sizeof "VIEWFOLD_" - 1 };
  for (char **at = environ; *at; at++) {
    const char *name = *at + PREFIX;
    if (strncmp(*at, "VIEWFOLD_", PREFIX) != 0) continue;
    size_t length = strcspn(name, "=");
    const char *near = fe_nearest(name, length, names, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof called_here / sizeof *called_here; i++)
      if (strlen(called_here[i][0]) == length && memcmp(called_here[i][0], name, length) == 0)
        near = called_here[i][1];
    if (near && (strlen(near) != length || memcmp(near, name, length) != 0))
      fprintf(stderr, "viewfold: no variable of viewfold is called VIEWFOLD_%.*s; VIEWFOLD_%s is\n",
              (int)(length > 40 ? 40 : length), name, near);
  }
}

int main(int argc, char **argv) {
  note_variables();
  int status = dispatch(argc, argv);
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  perror("viewfold: writing to standard output");
  return status ? status : CLI_BAD_INPUT;
}
