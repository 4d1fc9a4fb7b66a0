/* What every unit test needs: the headers that cmocka asks for, cmocka, and a main that runs tests by their
 * names. */
#ifndef VIEWFOLD_TEST_UNIT_H
#define VIEWFOLD_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Carry out a command of the shell, which must succeed. */
void unit_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Does an emulator run this program? Then what the system says of the process is of the emulator: its
 * threads, for one. */
bool unit_is_emulated(void);
/* Read at most `room` bytes of a file, and write one; the number of bytes. */
size_t unit_read_file(const char *path, void *bytes, size_t room);
void unit_write_file(const char *path, const void *bytes, size_t size);

/* Lets release(object) be called when the running test ends, for the last object first. Returns the object.
 */
void *unit_keep(void *object, void (*release)(void *object));
void unit_release(const void *object); /* earlier; the last that is this object */

typedef struct unit_fixtures {
  CMFixtureFunction set_up, tear_down; /* of the group */
  CMFixtureFunction enter, leave;      /* of each test */
} unit_fixtures;
/* Run the tests, whose names are separated by commas, in one group. Returns how many failed. */
int unit_run(const CMUnitTestFunction *tests, const char *names, unit_fixtures fixtures);
#define UNIT_RUN(set_up, tear_down, ...)                                                                     \
  unit_run((const CMUnitTestFunction[]){__VA_ARGS__}, #__VA_ARGS__,                                          \
           (unit_fixtures){set_up, tear_down, NULL, NULL})

/* A main that runs these tests: alone, between functions of the group, each between functions. */
#define UNIT_TESTS(...) UNIT_TESTS_BETWEEN(NULL, NULL, __VA_ARGS__)
#define UNIT_TESTS_BETWEEN(set_up, tear_down, ...)                                                           \
  int main(void) { return UNIT_RUN(set_up, tear_down, __VA_ARGS__); }
#define UNIT_TESTS_EACH(enter, leave, ...)                                                                   \
  int main(void) {                                                                                           \
    return unit_run((const CMUnitTestFunction[]){__VA_ARGS__}, #__VA_ARGS__,                                 \
                    (unit_fixtures){NULL, NULL, enter, leave});                                              \
  }

#endif
