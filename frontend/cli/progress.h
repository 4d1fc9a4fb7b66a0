/* A line on standard error that says how far a command has come: only on a terminal, redrawn in place. */
#ifndef VIEWFOLD_FRONTEND_CLI_PROGRESS_H
#define VIEWFOLD_FRONTEND_CLI_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

#include "ir/base.h"
#include "ir/timer.h"

typedef struct cli_progress {
  bool shown; /* standard error is a terminal */
  int64_t opened_ns, drawn_ns;
} cli_progress;

/* Finds out whether standard error is a terminal. Draws nothing. */
void cli_progress_open(cli_progress *progress);
/* share: 0 to 1. Draws some ten times a second at most, and nothing in the first second. */
void cli_progress_draw(cli_progress *progress, double share, const char *format, ...) IR_PRINTF(3, 4);
void cli_progress_close(cli_progress *progress); /* erases the line */

/* How far a compilation is: told by its timer, from several threads. Must not move while it is open. */
typedef struct cli_compile_progress {
  cli_progress line;
  ir_timer timer;
  const ir_timer *next; /* is told the same; or NULL */
  pthread_mutex_t lock;
  unsigned kernels, compiled; /* whose loops are made; whose code is */
} cli_compile_progress;

/* The timer for the options of a context: `next` itself where standard error is no terminal. */
const ir_timer *cli_compile_progress_open(cli_compile_progress *progress, const ir_timer *next);
/* Erases the line. The timer may still be told afterwards: it draws nothing. Accepts one that is all zero. */
void cli_compile_progress_close(cli_compile_progress *progress);

#endif
