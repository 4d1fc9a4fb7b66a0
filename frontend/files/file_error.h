/* Messages about a file: "FILE: error: what was wrong, what was found, what was expected". */
#ifndef VIEWFOLD_FRONTEND_FILES_FILE_ERROR_H
#define VIEWFOLD_FRONTEND_FILES_FILE_ERROR_H

#include "ir/base.h"

/* Record "NAME: error: ..." unless a failure is already recorded; returns the recorded status. A name too
 * long to leave room for the message keeps its last 240 bytes, after "...". */
ir_status fe_file_fail(ir_error *error, ir_status status, const char *name, const char *format, ...)
    IR_PRINTF(4, 5);

#endif
