/* A line on standard error that says how far a command has come: only on a terminal, redrawn in place. */
#ifndef VIEWFOLD_FRONTEND_CLI_PROGRESS_H
#define VIEWFOLD_FRONTEND_CLI_PROGRESS_H

#include <stdint.h>

#include "ir/base.h"

typedef struct cli_progress {
  bool shown; /* standard error is a terminal */
  int64_t drawn_ns;
} cli_progress;

/* Finds out whether standard error is a terminal. Draws nothing. */
void cli_progress_open(cli_progress *progress);
/* share: 0 to 1. Draws some ten times a second at most. */
void cli_progress_draw(cli_progress *progress, double share, const char *format, ...) IR_PRINTF(3, 4);
void cli_progress_close(cli_progress *progress); /* erases the line */

#endif
