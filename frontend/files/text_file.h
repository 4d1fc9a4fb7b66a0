/* The folder frontend/files. Files.
 *
 *   in      names of files
 *   out     text, arrays of .npy files
 *   holds   a file is written whole or not at all; messages name it */

/* Whole text files in memory, and lines of them, within limits. */
#ifndef VIEWFOLD_FRONTEND_FILES_TEXT_FILE_H
#define VIEWFOLD_FRONTEND_FILES_TEXT_FILE_H

#include <stdio.h>

#include "ir/parse/lex.h"

/* What a file of text may hold. Graphs: as much as the parser takes. Schedules: a line per nest, 100,000
 * nests of lines of 160 bytes. */
#define FE_GRAPH_MOST    IR_TEXT_MOST
#define FE_SCHEDULE_MOST ((size_t)16 << 20)

/* Append the bytes of a file, and a NUL that does not count; `-` is standard input. A file, pipe or device of
 * more than `most` bytes is refused. Text holds no NUL byte: reading stops soon after one, for the parser to
 * say where. */
ir_status fe_text_read(const char *path, size_t most, ir_text *out, ir_error *error);
/* What messages call the file. */
const char *fe_text_name(const char *path);

/* LONG: the line has more than `most` bytes; ENDLESS: and FE_GRAPH_MOST of them, without an end. */
typedef enum fe_line { FE_LINE_END, FE_LINE_READ, FE_LINE_LONG, FE_LINE_ENDLESS } fe_line;

/* The next line of a stream in place of *line, without its newline, at most `most` bytes of it; *length is
 * that of the whole line. ferror(in) and line->failed say what went wrong besides. */
fe_line fe_line_read(FILE *in, size_t most, ir_text *line, size_t *length);

#endif
