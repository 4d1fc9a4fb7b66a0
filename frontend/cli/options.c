/* Options of a subcommand. */
#include "frontend/cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/cli/cli.h"
#include "frontend/text/nearest.h"

int cli_usage(const char *command, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "viewfold%s%s: ", *command ? " " : "", command);
  vfprintf(stderr, format, list);
  fprintf(stderr, "\nTry 'viewfold%s%s --help'.\n", *command ? " " : "", command);
  va_end(list);
  return CLI_BAD_INPUT;
}

void cli_error_add(ir_error *error, const char *text) {
  size_t used = strlen(error->text);
  snprintf(error->text + used, sizeof error->text - used, "%s", text);
}

const char *cli_word_list(const char *const *words, size_t count, char *out, size_t size) {
  size_t used = 0;
  *out = '\0';
  for (size_t i = 0; i < count && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s",
                             i == 0          ? ""
                             : i + 1 < count ? ", "
                                             : " and ",
                             words[i]);
  return out;
}

/* Options that a command lacks, and what there is in their place. */
static const struct {
  const char *command, *option, *instead;
} elsewhere[] = {
    {"dump", "--mesh", "the text declares its mesh, above the graph: mesh @m [x=2,y=4]"},
    {"dump", "--shard", "the text says it behind a type: %x: f32[8,3]@m[x,-]"},
    {"check", "--mesh", "the text declares its mesh, above the graph: mesh @m [x=2,y=4]"},
    {"build", "--mesh", "an object has no mesh; `viewfold run --mesh` has"},
    {"dump", "--kernel", "all kernels are printed; `viewfold explain --kernel N` takes one"},
    {"explain", "--json", "`viewfold run --profile=json` prints figures as JSON"},
    {"explain", "--profile", "it is an option of run: `viewfold run --profile FILE.vf`"},
    {"dump", "-o", "it prints to standard output, as in: viewfold dump --stage=loops FILE.vf > loops.txt"},
    {"explain", "-o", "it prints to standard output, as in: viewfold explain FILE.vf > report.txt"},
    {"dump", "--out", "it prints to standard output, as in: viewfold dump --stage=loops FILE.vf > loops.txt"},
    {"dump", "--threads", "VIEWFOLD_THREADS says how many"},
    {"build", "--threads", "VIEWFOLD_THREADS says how many"},
    {"build", "--size", "sizes that vary are arguments of the function, in the order that the header tells"},
    {"run", "-o", "--out NAME=FILE.npy writes the value %NAME to a file"},
    {"run", "--output", "--out NAME=FILE.npy writes the value %NAME to a file"},
    {"run", "--seed", "inputs are given by --in; `viewfold check` makes them of seeds"},
    {"run", "--verbose", "VIEWFOLD_DEBUG=log,perf prints what is done"},
    {"run", "--debug", "VIEWFOLD_DEBUG=nan,inf looks for these, and log,perf prints what is done"},
    {"run", "--dtype", "dtypes are those of the text: %x: f16[2,3]"},
    {"run", "--grad", "derivatives are recorded in C or Python: vf_grad, vf.grad"},
    {"run", "--batch", "sizes are those of the text, and --size gives those that vary"},
    {"run", "--rtol", "--check allows what orders of additions may differ by"},
    {"run", "--atol", "--check allows what orders of additions may differ by"},
    {"run", "--random", "inputs are given by --in; `viewfold check` makes them of seeds"},
    {"run", "--cache", "VIEWFOLD_CACHE_DIR names it"},
    {"run", "--no-cache", "VIEWFOLD_CACHE_DIR=$(mktemp -d) begins with an empty one"},
    {"run", "--repeat", "--time measures many runs, and prints their median"},
    {"run", "--iterations", "--time measures many runs, and prints their median"},
    {"run", "--benchmark", "--time measures many runs, and prints their median"},
    {"check", "--tolerance", "errors are bounded by what orders of additions may differ by"},
    {"check", "--tol", "errors are bounded by what orders of additions may differ by"},
    {"check", "--atol", "errors are bounded by what orders of additions may differ by"},
    {"check", "--rtol", "errors are bounded by what orders of additions may differ by"},
    {"cache", "--clear", "`viewfold cache prune --max 0` removes all"},
    {"check", "--seed", "inputs are those of fixed seeds, or of --in"},
};

static const char *find_elsewhere(const char *command, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
    if (strcmp(elsewhere[i].command, command) == 0 && strlen(elsewhere[i].option) == length &&
        memcmp(elsewhere[i].option, name, length) == 0)
      return elsewhere[i].instead;
  return NULL;
}

static int fail_unknown_option(const cli_syntax *s, const char *command, const char *name, size_t length) {
  const char *names[64];
  size_t count = 0;
  for (size_t i = 0; i < s->option_count && count < 63; i++) names[count++] = s->options[i].name;
  names[count++] = "--help";
  const char *instead = find_elsewhere(command, name, length);
  if (instead) return cli_usage(command, "unknown option '%.*s'; %s", (int)length, name, instead);
  const char *near = fe_nearest(name, length, names, count);
  for (size_t i = 0; i < count && length == 2 && name[1] != '-'; i++) /* -o for --out */
    if (names[i][1] == '-' && names[i][2] == name[1]) near = names[i];
  if (near) return cli_usage(command, "unknown option '%.*s'; did you mean %s?", (int)length, name, near);
  char list[600];
  return cli_usage(command, "unknown option '%.*s'; there %s %s", (int)length, name,
                   count == 1 ? "is" : "are", cli_word_list(names, count, list, sizeof list));
}

int cli_last(void *to, const char *command, const char *option, const char *value) {
  (void)command, (void)option;
  *(const char **)to = value;
  return CLI_OK;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Is the word after an option with an optional value, a folder, its value? A word that is none of the others
 * must be, also where there is no such folder. */
static bool is_value(const cli_syntax *s, size_t words, const char *word) {
  return is_folder(word) || (words == s->most && word[0] != '-');
}

/* argv[*at] begins with an option; *at becomes the last of the arguments that were read. */
static int read_option(const cli_syntax *s, int argc, char **argv, size_t words, int *at) {
  const char *command = argv[0], *word = argv[*at];
  size_t length = strcspn(word, "=");
  const char *value = word[length] ? word + length + 1 : NULL;
  for (size_t i = 0; i < s->option_count; i++) {
    const cli_option *o = &s->options[i];
    if (strlen(o->name) != length || memcmp(o->name, word, length) != 0) continue;
    if (!o->value && value) return cli_usage(command, "option %s takes no value, found '%s'", o->name, value);
    if (!o->value) return o->give(o->to, command, o->name, "");
    bool optional = o->value[0] == '[';
    if (!value && *at + 1 < argc && (!optional || is_value(s, words, argv[*at + 1]))) value = argv[++*at];
    if (!value && optional) value = "";
    return value ? o->give(o->to, command, o->name, value)
                 : cli_usage(command, "option %s needs a value: %s", o->name, o->value);
  }
  return fail_unknown_option(s, command, word, length);
}

static bool takes_no_value(const cli_syntax *s, const char *name) {
  for (size_t i = 0; i < s->option_count; i++)
    if (!s->options[i].value && strcmp(s->options[i].name, name) == 0) return true;
  return false;
}

/* A word too many; the option before it, or before the word before it, may have been meant to take it. */
static int fail_more(const cli_syntax *s, char **argv, int at) {
  char more[128];
  for (int before = at - 1; before > 0 && before >= at - 2; before--)
    if (takes_no_value(s, argv[before])) {
      snprintf(more, sizeof more, "%s; %s takes no value", s->more, argv[before]);
      return cli_usage(argv[0], more, argv[at]);
    }
  return cli_usage(argv[0], s->more, argv[at]);
}

int cli_read(const cli_syntax *s, int argc, char **argv) {
  size_t words = 0;
  bool words_only = false;
  int status = CLI_OK;
  for (int at = 1; at < argc && !status; at++) {
    const char *word = argv[at];
    if (words_only || word[0] != '-' || word[1] == '\0') {
      if (words == s->most) return fail_more(s, argv, at);
      s->words[words++] = word;
    } else if (strcmp(word, "--") == 0) {
      words_only = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      if (s->put_help) s->put_help();
      else fputs(s->help, stdout);
      return CLI_OK;
    } else {
      status = read_option(s, argc, argv, words, &at);
    }
  }
  return status ? status : CLI_END;
}

int cli_read_word(const char *help, const cli_option *options, size_t count, const char **word,
                  const char *more, int argc, char **argv) {
  const cli_syntax syntax = {help, NULL, options, count, word, 1, more};
  return cli_read(&syntax, argc, argv);
}

int cli_read_switch(const char *help, const char *name, const char *more, int argc, char **argv,
                    bool *given) {
  const char *value = NULL;
  const cli_option option = {name, NULL, cli_last, &value};
  const cli_syntax syntax = {help, NULL, &option, 1, NULL, 0, more};
  int status = cli_read(&syntax, argc, argv);
  *given = value != NULL;
  return status;
}
