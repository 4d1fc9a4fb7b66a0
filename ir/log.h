/* What happens that is no failure, but costs time or memory: as text, for whoever has asked.
 *
 * A text begins with the part that speaks, such as "cache: ". Nothing here allocates. */
#ifndef VIEWFOLD_IR_LOG_H
#define VIEWFOLD_IR_LOG_H

#include "base.h"

typedef enum ir_log_level {
  IR_LOG_WARNING = 1, /* holds as long as something is not put right, as a directory that is not used */
  IR_LOG_INFO = 2     /* one time, as an entry that could not be stored */
} ir_log_level;

/* One line, without its end. May be called in several threads at once. */
typedef void (*ir_log_receiver)(void *user, int level, const char *text);

typedef struct ir_log {
  ir_log_receiver receive; /* NULL: nobody has asked */
  void *user;
  int most; /* the last level that is received */
} ir_log;

/* Is anybody told of this level? log may be NULL. */
static inline bool ir_log_wants(const ir_log *log, ir_log_level level) {
  return log && log->receive && (int)level <= log->most;
}
/* Tells whoever has asked for the level; longer texts than an error's are cut. errno stays. */
void ir_say(const ir_log *log, ir_log_level level, const char *format, ...) IR_PRINTF(3, 4);

#endif
