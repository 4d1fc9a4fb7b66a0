/* The folder frontend/cli. The command `viewfold`.
 *
 *   in      arguments, files
 *   out     results on standard output, messages on standard error, an exit status
 *   holds   a subcommand has one row in the table of cli.c */

/* The command `viewfold`: one function per subcommand, each in frontend/cli/NAME.c with its row in the table
 * of cli.c.
 *
 * A subcommand gets its own name as argv[0]. Results go to standard output, everything else to standard
 * error. */
#ifndef VIEWFOLD_FRONTEND_CLI_CLI_H
#define VIEWFOLD_FRONTEND_CLI_CLI_H

enum {
  CLI_OK = 0,
  CLI_CHECK_FAILED = 1,
  CLI_BAD_INPUT = 2, /* wrong usage or input of the user */
  CLI_DEVICE = 3,    /* failure of device or compiler */
  CLI_SIGNAL = 128   /* plus the number of a signal that ended the work early, in an orderly way */
};

/* `viewfold NAME`, with the options and words argv[1] to argv[argc - 1], as `viewfold NAME --help` describes
 * them; argv[argc] is NULL. They return the exit status of the process, one of the above, after a message on
 * standard error where it is not CLI_OK. */
int cli_index(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_import(int argc, char **argv);
int cli_check_command(int argc, char **argv);
int cli_dump(int argc, char **argv);
int cli_build(int argc, char **argv);
int cli_pass(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_tune(int argc, char **argv);
int cli_cache(int argc, char **argv);
int cli_devices(int argc, char **argv);
int cli_rules(int argc, char **argv);
int cli_ops(int argc, char **argv);
int cli_mesh(int argc, char **argv);
int cli_reshard(int argc, char **argv);

#endif
