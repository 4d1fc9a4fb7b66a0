#include "runtime/system/command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>

extern char **environ;

int rt_run_command(char *const words[], const char *said) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = -1;
  if (posix_spawn_file_actions_init(&actions)) return -1;
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  if (posix_spawnp(&child, words[0], &actions, NULL, words, environ) == 0)
    while (waitpid(child, &status, 0) < 0)
      if (errno != EINTR) {
        status = 0;
        break;
      }
  posix_spawn_file_actions_destroy(&actions);
  return status;
}
