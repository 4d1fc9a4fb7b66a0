/* The folder frontend/files. Reading and writing files.
 *
 *   in      names of files
 *   out     text, arrays of .npy, .npz, safetensors and GGUF files
 *   holds   a file is written whole or not at all; messages name it */

/* Whole text files in memory, and lines of them, within limits. */
#ifndef VIEWFOLD_FRONTEND_FILES_TEXT_FILE_H
#define VIEWFOLD_FRONTEND_FILES_TEXT_FILE_H

#include <stdio.h>

#include "ir/lex/lex.h"

/* The largest files of text. Graphs: as much as the parser accepts. Schedules: a line for each loop nest,
 * 100,000 nests of lines of 160 bytes. */
#define FE_GRAPH_MOST    IR_TEXT_MOST
#define FE_SCHEDULE_MOST ((size_t)16 << 20)

/* Append the bytes of a file, and a NUL that out->len does not count; `-` is standard input. A file, pipe or
 * device of more than `most` bytes is refused. Text has no NUL bytes: reading stops soon after one, and the
 * parser reports its place. */
ir_status fe_text_read(const char *path, size_t most, ir_text *out, ir_error *error);
/* The name of the file in messages. */
const char *fe_text_name(const char *path);

/* LONG: the line has more than `most` bytes; ENDLESS: it does not end within FE_GRAPH_MOST bytes. */
typedef enum fe_line { FE_LINE_END, FE_LINE_READ, FE_LINE_LONG, FE_LINE_ENDLESS } fe_line;

/* Read the next line of a stream. *line receives at most `most` bytes of it, without the newline; *length is
 * the length of the whole line. Errors are in ferror(in) and line->failed. */
fe_line fe_line_read(FILE *in, size_t most, ir_text *line, size_t *length);

#endif
