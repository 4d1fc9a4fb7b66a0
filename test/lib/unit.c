/* Runs the tests of a unit test program. */
#include "test/lib/unit.h"

#include <cmocka.h>

int unit_run(const CMUnitTestFunction *tests, const char *names, unit_fixtures f) {
  char *copy = strdup(names), *rest = copy;
  size_t count = 0;
  struct CMUnitTest *list = calloc(strlen(names), sizeof *list);
  if (!copy || !list) abort();
  for (char *name; (name = strtok_r(rest, ", ", &rest)); count++)
    list[count] = (struct CMUnitTest){name, tests[count], f.enter, f.leave, NULL};
  int failed = _cmocka_run_group_tests("tests", list, count, f.set_up, f.tear_down);
  free(list);
  free(copy);
  return failed;
}
