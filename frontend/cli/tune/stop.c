#include <signal.h>

#include "frontend/cli/tune/tune.h"

static volatile sig_atomic_t stopped;

static void note_signal(int number) { stopped = number; }

void tune_stop_on_signals(void) {
  static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction now, wanted = {.sa_handler = note_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaction(numbers[i], &wanted, NULL);
  }
}

int tune_stopped(void) { return (int)stopped; }
