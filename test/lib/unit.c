/* Runs the tests of a unit test program. */
#include "test/lib/unit.h"

#include <pthread.h>

/* What the running test keeps, the last object first; its threads may keep objects too. */
typedef struct kept_object {
  void *object;
  void (*release)(void *object);
  struct kept_object *next;
} kept_object;
static kept_object *kept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static CMFixtureFunction leave; /* of each test, after its objects are released; NULL: there is none */

void *unit_keep(void *object, void (*release)(void *object)) {
  kept_object *k = malloc(sizeof *k);
  if (!k) abort();
  *k = (kept_object){object, release, NULL};
  pthread_mutex_lock(&kept_lock);
  k->next = kept;
  kept = k;
  pthread_mutex_unlock(&kept_lock);
  return object;
}

void unit_release(const void *object) {
  pthread_mutex_lock(&kept_lock);
  kept_object **at = &kept;
  while (*at && (*at)->object != object) at = &(*at)->next;
  kept_object *k = *at;
  if (k) *at = k->next;
  pthread_mutex_unlock(&kept_lock);
  if (!k) fail_msg("an object is released that is not kept");
  k->release(k->object);
  free(k);
}

static int leave_test(void **state) {
  while (kept) unit_release(kept->object);
  return leave ? leave(state) : 0;
}

int unit_run(const CMUnitTestFunction *tests, const char *names, unit_fixtures f) {
  char *copy = strdup(names), *remaining = copy;
  size_t count = 0;
  struct CMUnitTest *list = calloc(strlen(names), sizeof *list);
  if (!copy || !list) abort();
  leave = f.leave;
  for (char *name; (name = strtok_r(remaining, ", ", &remaining)); count++)
    list[count] = (struct CMUnitTest){name, tests[count], f.enter, leave_test, NULL};
  int failed = _cmocka_run_group_tests("tests", list, count, f.set_up, f.tear_down);
  free(list);
  free(copy);
  return failed;
}

void unit_shell(const char *format, ...) {
  char command[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  if (system(command) != 0) fail_msg("%s", command);
}

bool unit_is_emulated(void) { return getenv("EMULATOR") != NULL; }

size_t unit_read_file(const char *path, void *bytes, size_t room) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, room, file);
  fclose(file);
  return size;
}

void unit_write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}
