/* Test data of models: a folder of input_0.pb, input_1.pb, ... and output_0.pb, ..., tensors as ONNX has
 * them. */
#ifndef VIEWFOLD_FRONTEND_CLI_TEST_DATA_H
#define VIEWFOLD_FRONTEND_CLI_TEST_DATA_H

#include "frontend/cli/bind.h"

/* The files of one kind, "input" or "output", and the names that they give their tensors. */
typedef struct cli_test_data {
  struct cli_test_tensor *items;
  size_t count, cap;
} cli_test_data;

/* Lists the files; the tensors are read when they are asked for. The error is `error`'s. */
ir_status cli_test_data_open(cli_test_data *data, const char *folder, const char *kind, ir_error *error);
void cli_test_data_close(cli_test_data *data);
/* Adds a pair NAME=FILE for each input that `inputs` lacks; data must outlive them. */
ir_status cli_test_data_inputs(const cli_test_data *data, cli_pairs *inputs, ir_error *error);
/* Compares results with the tensors of their names: those without a name are in the order of the results. The
 * tolerance is that of ONNX's own tests, 1e-7 + 1e-3 of the expected value; other dtypes than floats are
 * equal. False where one differs; lines of what was found go to out. */
bool cli_test_data_compare(const cli_test_data *data, const ir_parsed_graph *block, const fe_array *outputs,
                           ir_text *out, ir_error *error);

#endif
