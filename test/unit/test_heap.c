/* The check for blocks that are never freed (test/lib/heap.h): this program starts itself again and leaks
 * some. */
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/viewfold.h"
#include "test/lib/heap.h"
#include "test/lib/unit.h"

enum { LEAKED = 99 };

/* What a process leaks, and the message it must print; "" where it exits with 0. */
static const struct {
  const char *what, *said;
} cases[] = {{"nothing", ""},
             {"malloc", "never freed: 1 blocks, 10 bytes"},
             {"calloc", "never freed: 1 blocks, 60 bytes"},
             {"realloc", "never freed: 1 blocks, 70 bytes"},
             {"strdup", "never freed: 1 blocks, 4 bytes"},
             {"thousands", "never freed: 5000 blocks, 50000 bytes"},
             {"context", "never freed: "},
             {"held", "never freed: 1 blocks, 3 bytes"},
             {"of a child", ""}};

static void *volatile kept; /* a block that a pointer still refers to was not freed either */

static int leave(const char *what) {
  if (!strcmp(what, "malloc")) kept = malloc(10);
  if (!strcmp(what, "calloc")) kept = calloc(6, 10);
  if (!strcmp(what, "realloc")) kept = realloc(malloc(10), 70);
  if (!strcmp(what, "strdup")) kept = strdup("abc");
  if (!strcmp(what, "context")) kept = vf_context_create(NULL, NULL);
  if (!strcmp(what, "held")) heap_hold(cases, 3);
  if (!strcmp(what, "of a child") && fork() == 0) kept = malloc(10);
  if (!strcmp(what, "thousands")) {
    enum { MANY = 10000 };
    static void *volatile all[MANY];
    for (int i = 0; i < MANY; i++) all[i] = malloc(10);
    for (int i = 0; i < MANY; i += 2) free(all[i]);
  }
  if (!strcmp(what, "nothing")) free(malloc(10)), free(realloc(strdup("abc"), 100)), free(NULL);
  while (wait(NULL) > 0) {}
  return 0;
}

static void test_each(void **state) {
  if (unit_is_emulated()) skip(); /* it would start itself without the emulator */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char command[128], said[4096];
    snprintf(command, sizeof command, "exec /proc/%d/exe '%s' 2>&1", (int)getpid(), cases[i].what);
    FILE *child = popen(command, "re");
    assert_non_null(child);
    said[fread(said, 1, sizeof said - 1, child)] = 0;
    int status = pclose(child);
    bool leaked = *cases[i].said;
    if (WEXITSTATUS(status) != (leaked ? LEAKED : 0) || !strstr(said, cases[i].said) || (!leaked && *said))
      fail_msg("%s: status %d: %s", cases[i].what, status, said);
  }
}

int main(int argc, char **argv) {
  if (argc == 2) return leave(argv[1]);
  return UNIT_RUN(NULL, NULL, test_each);
}
