/* Arguments of a subcommand: --name, --name=value, --name value, -- ends the options; -h and --help. */
#ifndef VIEWFOLD_FRONTEND_CLI_OPTIONS_H
#define VIEWFOLD_FRONTEND_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/base.h"

typedef struct cli_option {
  const char *name;  /* "--device" */
  const char *value; /* what it takes, for messages: "cpu or opencl"; NULL: nothing */
  /* Receives each value, "" of an option that takes none. Returns the exit status. */
  int (*give)(void *to, const char *command, const char *option, const char *value);
  void *to;
} cli_option;
/* A `give` of a const char *, which becomes the last value. */
int cli_last(void *to, const char *command, const char *option, const char *value);

typedef struct cli_syntax {
  const char *help;       /* what --help prints, */
  void (*put_help)(void); /* or else what prints it */
  const cli_option *options;
  size_t option_count;
  const char **words; /* receives the arguments that are no options, */
  size_t most;        /* at most so many */
  const char *more;   /* message about one more, which is %s */
} cli_syntax;

enum { CLI_END = -1 };

/* Read all arguments. CLI_END when there is something to do; otherwise the exit status, after help or a
 * message. */
int cli_read(const cli_syntax *syntax, int argc, char **argv);

/* The same of a command that takes one word. */
void cli_error_add(ir_error *error, const char *text); /* behind its message */
/* "a, b and c". */
const char *cli_word_list(const char *const *words, size_t count, char *out, size_t size);
int cli_read_word(const char *help, const cli_option *options, size_t count, const char **word,
                  const char *more, int argc, char **argv);

/* The same of a command that takes one option without a value, and no words. */
int cli_read_switch(const char *help, const char *name, const char *more, int argc, char **argv, bool *given);

/* `viewfold COMMAND: message` and where to find help, on standard error. Returns CLI_BAD_INPUT. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
