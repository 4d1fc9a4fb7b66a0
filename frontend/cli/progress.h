/* How far a command has come: a line on standard error, only on a terminal, redrawn in place; and Ctrl-C,
 * which ends its work. */
#ifndef VIEWFOLD_FRONTEND_CLI_PROGRESS_H
#define VIEWFOLD_FRONTEND_CLI_PROGRESS_H

#include <stdint.h>

#include "ir/progress.h"

typedef struct cli_progress {
  bool shown; /* standard error is a terminal */
  int64_t opened_ns, drawn_ns;
} cli_progress;

/* Finds out whether standard error is a terminal. Draws nothing. */
void cli_progress_open(cli_progress *progress);
/* share: 0 to 1. Draws some ten times a second at most, and nothing in the first second. */
void cli_progress_draw(cli_progress *progress, double share, const char *format, ...) IR_PRINTF(3, 4);
void cli_progress_close(cli_progress *progress); /* erases the line */

/* For contexts and graphs of the command. The first call sees to it that the first SIGINT ends their work,
 * and whatever work they begin afterwards, with IR_ERR_CANCELLED; a second one ends the process. */
ir_progress *cli_work(void);
ir_task *cli_task(void); /* the one task that all of it is */
bool cli_interrupted(void);

/* From now on, until it is hidden as often as it was shown: a line on a terminal, once the work has taken a
 * second. Hiding erases it. */
void cli_work_show(void);
void cli_work_hide(void);
void cli_work_erase(void); /* before something else is printed; it may be drawn again afterwards */

#endif
