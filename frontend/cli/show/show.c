/* `viewfold show`: writes a page with pictures of views, the graph and its code. */
#include "frontend/cli/show/show.h"

#include <stdio.h>
#include <string.h>

#include "frontend/cli/bind.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/mesh/processes.h"
#include "frontend/cli/options.h"
#include "frontend/cli/progress.h"
#include "frontend/files/atomic_file.h"
#include "runtime/cpu/target.h"
#include "runtime/mpi/mpi.h"

static const char help_text[] =
    "Usage: viewfold show [-o PAGE.html] [--graph NAME] [--target SETTINGS] [--profile FILE] FILE.vf|CHAIN\n"
    "\n"
    "Writes one page for a browser, complete in itself: nothing is fetched, nothing else is needed. FILE.vf "
    "`-` is\n"
    "standard input. Nothing is run.\n"
    "\n"
    "  $ viewfold show 'f32[3,2].permute(1,0).reshape(3,2)' -o page.html\n"
    "\n"
    "Of a file: a picture of the graph, whose parts open and close, with search, and for each operation its "
    "line, kernel "
    "and\n"
    "code. "
    "For each step of a chain of views it shows the shape, strides, offset and mask (half-open), the "
    "elements and "
    "the\n"
    "memory that they read, the index expression and the rules that made it. Point at an element, or move "
    "over "
    "the elements\n"
    "with the arrow keys, to see its address worked out. Below are the graph, its kernels, loops and code.\n"
    "\n"
    "Options:\n"
    "  -o FILE        write the page there; otherwise, and for `-`, to standard output\n"
    "  --graph NAME   this graph of the file; otherwise all\n"
    "  --target SETTINGS   code for another machine, as of `viewfold dump`\n"
    "  --profile FILE   times of kernels that were measured, as JSON: the picture is coloured by them\n"
    "  --in NAME=VALUE   the value of a model's input that the importer must know, such as a shape\n"
    "\n"
    "Exit status: 0; 2 when the input is wrong or the page cannot be written; 3 when the code cannot be "
    "made: "
    "the page\n"
    "then says so in its place.\n";

static int write_page(const ir_text *page, const char *path) {
  ir_error error = {0};
  fe_atomic_file file;
  if (!path || strcmp(path, "-") == 0) {
    fwrite(page->data, 1, page->len, stdout);
    return CLI_OK;
  }
  if (fe_atomic_open(&file, path, &error) == IR_OK &&
      fe_atomic_write(&file, page->data, page->len, &error) == IR_OK &&
      fe_atomic_commit(&file, &error) == IR_OK)
    return CLI_OK;
  return cli_failure("show", &error);
}

static int make_page(show *s, const char *word, const char *name, ir_text *page) {
  ir_error error = {0};
  json_t *data = show_data(s, word, name);
  if (!data) return s->status ? s->status : CLI_BAD_INPUT;
  if (!show_page(word, data, page)) ir_fail(&error, IR_ERR_MEMORY, "out of memory writing a page");
  json_decref(data);
  return error.status ? cli_failure("show", &error) : CLI_OK;
}

static int show_word(show *s, const char *word, const char *name, const char *path, cli_pairs *given) {
  ir_text page;
  int status = cli_graph_no_values("show", word, given);
  if (status) return status;
  status = cli_graph_open(&s->s, "show", word, false, given);
  ir_text_init(&page, &ir_mem_libc);
  cli_work_show();
  if (!status) status = make_page(s, word, name, &page);
  cli_work_hide();
  if (!status) status = write_page(&page, path);
  ir_text_free(&page);
  cli_graph_close(&s->s);
  return status ? status : s->status;
}

/* Of what is no page, though a browser may open it: the ending; NULL: it is another. */
static const char *other_ending(const char *path) {
  static const char *const others[] = {".pdf", ".png", ".svg", ".jpg", ".json", ".txt", ".vf"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    size_t length = strlen(path), own = strlen(others[i]);
    if (length > own && strcmp(path + length - own, others[i]) == 0) return others[i];
  }
  return NULL;
}

/* Asks all processes that a launcher has started, of which the first writes the page. *context: that of
 * several, which is to be destroyed. */
static int find_hosts(show *s, rt_context **context) {
  rt_options options;
  ir_error error = {0};
  bool several = rt_mpi_is_launched();
  int status = several ? cli_context_options("show", NULL, "cpu", &options) : CLI_OK;
  if (status) return status;
  if ((several && (rt_context_create(&ir_mem_libc, &options, context, &error) != IR_OK ||
                   cli_processes_join(*context, &error) != IR_OK)) ||
      fe_hosts_find(*context, "", &s->hosts, &error) != IR_OK)
    return cli_failure("show", &error);
  return CLI_OK;
}

static int show_command(int argc, char **argv, cli_pairs *given) {
  const char *word = NULL, *output = NULL, *name = NULL, *profile = NULL, *target = NULL;
  const cli_option options[] = {{"-o", "a file to write", cli_last, &output},
                                {"--graph", "a name", cli_last, &name},
                                {"--target", "settings", cli_last, &target},
                                {"--profile", "a file of JSON", cli_last, &profile},
                                {"--in", "NAME=VALUE", cli_pairs_add, given}};
  int status =
      cli_read_word(help_text, options, sizeof options / sizeof *options, &word,
                    "one file at a time, found '%s' as well; -o names the page to write", argc, argv);
  if (status != CLI_END) return status;
  const char *ending = output ? other_ending(output) : NULL;
  if (ending)
    return cli_usage("show", "-o %s: a page is HTML; a name that ends with %s would mislead", output, ending);
  if (!word)
    return cli_usage("show",
                     "no file given; for example: viewfold show 'f32[3,2].permute(1,0)' -o page.html");
  ir_error error = {0};
  show s = {0};
  rt_compiling how;
  bool forbidden;
  status = cli_compiling("show", &how, &forbidden);
  if (status) return status;
  rt_target_host(&s.target);
  if ((target && rt_target_override(&s.target, target, &error) != IR_OK) ||
      rt_module_init(&s.module, &how, &error) != IR_OK)
    return cli_failure("show", &error);
  rt_context *context = NULL;
  if (profile && !show_profile_read(&s, profile, &error)) status = cli_failure("show", &error);
  if (!status) status = find_hosts(&s, &context);
  if (!status && (!context || cli_process_speaks(context))) status = show_word(&s, word, name, output, given);
  rt_context_destroy(context);
  fe_hosts_free(&s.hosts);
  json_decref(s.profile);
  rt_module_free(&s.module);
  return status;
}

int cli_show(int argc, char **argv) {
  cli_pairs given = {0};
  int status = show_command(argc, argv, &given);
  cli_pairs_free(&given);
  return status;
}
