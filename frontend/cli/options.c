/* Options of a subcommand. */
#include "frontend/cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static int fail_unknown_option(const cli_args *a, const char *name, size_t length) {
  const char *names[64];
  size_t count = 0;
  for (size_t i = 0; i < a->count && count < 63; i++) names[count++] = a->options[i].name;
  names[count++] = "--help";
  const char *near = fe_nearest(name, length, names, count);
  cli_usage(a->argv[0], near ? "unknown option '%.*s'; did you mean %s?" : "unknown option '%.*s'",
            (int)length, name, near);
  return CLI_WRONG;
}

int cli_next(cli_args *a) {
  if (a->at >= a->argc) return CLI_END;
  char *word = a->argv[a->at++];
  a->value = word;
  if (a->words_only || word[0] != '-' || word[1] == '\0') return CLI_WORD;
  if (strcmp(word, "--") == 0) {
    a->words_only = 1;
    return cli_next(a);
  }
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return CLI_HELP;
  size_t length = strcspn(word, "=");
  for (size_t i = 0; i < a->count; i++) {
    const cli_option *o = &a->options[i];
    if (strlen(o->name) != length || memcmp(o->name, word, length) != 0) continue;
    a->value = word[length] ? word + length + 1 : NULL;
    if (!o->value && a->value) {
      cli_usage(a->argv[0], "option %s takes no value, found '%s'", o->name, a->value);
      return CLI_WRONG;
    }
    if (o->value && !a->value && a->at < a->argc) a->value = a->argv[a->at++];
    if (o->value && !a->value) {
      cli_usage(a->argv[0], "option %s needs a value: %s", o->name, o->value);
      return CLI_WRONG;
    }
    return (int)i;
  }
  return fail_unknown_option(a, word, length);
}

int cli_only_json(const char *command, int argc, char **argv, bool *json) {
  static const cli_option options[] = {{"--json", NULL}};
  cli_args args = {.argc = argc, .at = 1, .argv = argv, .options = options, .count = 1};
  int next;
  *json = false;
  while ((next = cli_next(&args)) >= 0) *json = true;
  if (next != CLI_WORD) return next;
  cli_usage(command, "no arguments expected, found '%s'", args.value);
  return CLI_WRONG;
}
