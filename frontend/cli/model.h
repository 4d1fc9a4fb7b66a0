/* Importing models in subcommands. */
#ifndef VIEWFOLD_FRONTEND_CLI_MODEL_H
#define VIEWFOLD_FRONTEND_CLI_MODEL_H

#include "frontend/cli/bind.h"
#include "frontend/viewfold.h"

/* A context for graphs of models, which compiles nothing; NULL after an error. */
vf_context *cli_model_context(ir_error *error);
/* The graph of a model; inputs that the importer asks for are taken from `given` (or NULL), and removed
 * there. weights_file: onnx_import_asking. NULL after an error. */
vf_graph *cli_model_import(vf_context *context, const char *path, cli_pairs *given, const char *weights_file,
                           ir_error *error);

#endif
