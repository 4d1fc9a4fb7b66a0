/* The folder frontend/cli/json. Commands that answer lines of JSON.
 *
 *   in      one object per line of standard input
 *   out     one object per line of standard output
 *   holds   a bad line gets an answer that says why, and the next line is read */
#ifndef VIEWFOLD_FRONTEND_CLI_JSON_LINES_H
#define VIEWFOLD_FRONTEND_CLI_JSON_LINES_H

#include <jansson.h>
#include <stdio.h>

#include "ir/base.h"

typedef struct cli_json_command {
  const char *name; /* of the command */
  const char *key;  /* the member of a line that its answer repeats: it tells answers apart */
  bool any_key;     /* the member may be anything, not only a string */
  /* Adds the members of the answer; false, with the reason in *error, for a bad line. */
  bool (*answer)(void *user, const json_t *line, json_t *answer, ir_error *error);
  void *user;
} cli_json_command;

/* The exit status. A bad line gives {KEY:...,"error":"message"}; any bytes are accepted. */
int cli_json_lines(const cli_json_command *command, FILE *in, FILE *out);
/* what: the place, printed with a colon behind it; "" where the caller adds the place. False. */
bool cli_json_expected(ir_error *error, const char *what, const json_t *found, const char *expected);

#endif
