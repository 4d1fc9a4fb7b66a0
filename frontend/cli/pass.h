/* The names of passes on the command line. */
#ifndef VIEWFOLD_FRONTEND_CLI_PASS_H
#define VIEWFOLD_FRONTEND_CLI_PASS_H

#include "passes/passes.h"

/* The row of the pipeline with this name; NULL after a message. */
const pass_info *cli_find_pass(const char *command, const char *name);

#endif
