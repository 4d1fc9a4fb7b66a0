/* Programs that make one file from another, such as compilers. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_TOOL_H
#define VIEWFOLD_RUNTIME_SYSTEM_TOOL_H

#include "ir/base.h"

/* A run of a program in a new temporary directory (in TMPDIR, else /tmp), of which nothing is left. */
typedef struct rt_tool {
  const char *who;                /* what messages begin with */
  const char *const *words;       /* the program, found on PATH, and its arguments; the last is NULL */
  const char *input_name, *input; /* a file that is there, for arguments RT_TOOL_INPUT */
  size_t input_size;
  const char *output_name; /* the file that it makes, for arguments RT_TOOL_OUTPUT */
  const char *missing;     /* message where it cannot be run: "cannot run the compiler `cc`; install one" */
  const char *failed;      /* message where it fails, before what it says: "`cc` cannot compile its source" */
} rt_tool;

#define RT_TOOL_INPUT  "<input>"
#define RT_TOOL_OUTPUT "<output>"

/* The file that it made, *size bytes allocated from mem. IR_ERR_IO where the directory or the input cannot be
 * written, IR_ERR_COMPILE where the program is missing or fails, or leaves no file. */
ir_status rt_tool_run(const rt_tool *tool, const ir_mem *mem, uint8_t **bytes, size_t *size, ir_error *error);

/* What a program prints, as much as fits, without the last newline. `who`, for messages, as in rt_tool.
 * IR_ERR_IO where no temporary directory can be made, IR_ERR_COMPILE, with `missing` as its message, where
 * the program cannot be run or fails. */
ir_status rt_tool_says(const char *who, const char *const *words, const char *missing, char *out, size_t room,
                       ir_error *error);

#endif
