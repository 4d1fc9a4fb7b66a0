#include "frontend/cli/files.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/options.h"

static cli_files *volatile unfinished; /* for the signal handler */

static bool is_stdout(const cli_pair *pair) { return strcmp(pair->text, "-") == 0; }

bool cli_files_claim_stdout(const cli_pairs *out) {
  for (size_t i = 0; i < out->count; i++)
    if (is_stdout(&out->items[i])) return true;
  return false;
}

/* The signal handler: remove temporary files, then raise the signal again with its default action. */
static void interrupted(int number) {
  cli_files *files = unfinished;
  for (size_t i = 0; files && i < files->room; i++)
    if (files->list[i].temporary[0]) unlink(files->list[i].temporary);
  signal(number, SIG_DFL);
  raise(number);
}

/* An interrupt ends the work (progress.h), after which the files are abandoned; a second one ends the
 * process. */
static void set_handlers(void (*handler)(int)) {
  static const int numbers[] = {SIGHUP, SIGTERM};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction now, wanted = {.sa_handler = handler};
    if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaction(numbers[i], &wanted, NULL);
  }
}

/* The end of a file's name from its last point on, if it is another than .npy. */
static const char *other_ending(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *point = strrchr(name, '.');
  return point && point > name && strcmp(point, ".npy") != 0 ? point : NULL;
}

static bool is_same_file(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino && S_ISREG(first.st_mode);
}

int cli_files_apart(const char *command, const cli_pairs *out, const cli_pairs *in, const char *graph) {
  for (size_t i = 0; i < out->count; i++) {
    const cli_pair *to = &out->items[i];
    for (size_t k = 0; k < in->count && !is_stdout(to); k++)
      if (is_same_file(to->text, in->items[k].text))
        return cli_usage(command, "--out %.*s=%s: the run reads that file, as --in %.*s; write another one",
                         (int)to->length, to->name, to->text, (int)in->items[k].length, in->items[k].name);
    if (is_same_file(to->text, graph))
      return cli_usage(command, "--out %.*s=%s: that is the graph's file; write another one", (int)to->length,
                       to->name, to->text);
  }
  return CLI_OK;
}

int cli_files_open(cli_files *files, const char *command, const cli_pairs *out, ir_error *error) {
  files->list = calloc(out->count + 1, sizeof *files->list);
  if (!files->list) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory");
    return cli_failure(command, error);
  }
  files->room = out->count;
  unfinished = files;
  set_handlers(interrupted);
  for (; files->count < out->count; files->count++) {
    const cli_pair *pair = &out->items[files->count];
    const char *ending = is_stdout(pair) ? NULL : other_ending(pair->text);
    if (ending)
      return cli_usage(command,
                       "--out %s: results are written as .npy; a name that ends with %s would mislead",
                       pair->text, ending);
    fe_atomic_file *file = &files->list[files->count];
    ir_status status =
        is_stdout(pair) ? fe_atomic_stdout(file, error) : fe_atomic_open(file, pair->text, error);
    if (status != IR_OK) return cli_failure(command, error);
    for (size_t k = 0; k < files->count; k++)
      if (fe_atomic_same(file, &files->list[k])) {
        fe_atomic_abandon(file);
        return cli_usage(command, "--out: two results go to %s%s%s", out->items[k].text,
                         strcmp(out->items[k].text, pair->text) == 0 ? "" : ", also written ",
                         strcmp(out->items[k].text, pair->text) == 0 ? "" : pair->text);
      }
  }
  return CLI_OK;
}

ir_status cli_files_commit(cli_files *files, ir_error *error) {
  for (size_t i = 0; i < files->count; i++)
    if (fe_atomic_commit(&files->list[i], error) != IR_OK) return error->status;
  return IR_OK;
}

void cli_files_close(cli_files *files) {
  for (size_t i = 0; i < files->count; i++) fe_atomic_abandon(&files->list[i]);
  if (unfinished == files) {
    set_handlers(SIG_DFL);
    unfinished = NULL;
  }
  free(files->list);
  *files = (cli_files){0};
}
