/* Options of a subcommand, read one at a time: --name, --name=value, --name value, -- ends them; -h and
 * --help. */
#ifndef VIEWFOLD_FRONTEND_CLI_OPTIONS_H
#define VIEWFOLD_FRONTEND_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_option {
  const char *name;  /* "--device" */
  const char *value; /* what it takes, for messages: "cpu or opencl"; NULL: nothing */
} cli_option;

enum {
  CLI_END = -1,
  CLI_WORD = -2, /* not an option */
  CLI_HELP = -3,
  CLI_WRONG = -4 /* reported; the exit status is CLI_BAD_INPUT */
};

typedef struct cli_args {
  int argc, at; /* start with at = 1 */
  char **argv;
  const cli_option *options;
  size_t count;
  const char *value; /* of the option or the word just read */
  int words_only;    /* after -- */
} cli_args;

/* The next argument: the number of an option in the table, or one of the above. */
int cli_next(cli_args *args);

/* The arguments of a command that takes --json and nothing else. CLI_END: *json says whether it was given;
 * CLI_HELP: asked for; CLI_WRONG: reported. */
int cli_only_json(const char *command, int argc, char **argv, bool *json);

/* `viewfold COMMAND: message` and where to find help, on standard error. Returns CLI_BAD_INPUT. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
