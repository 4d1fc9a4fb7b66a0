/* Folders of a test's own. */
#ifndef VIEWFOLD_TEST_FOLDER_H
#define VIEWFOLD_TEST_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

bool test_folder_make(char *path, size_t size); /* a new one in $TMPDIR or /tmp, whose name it writes */
void test_folder_remove(const char *path);      /* with what is in it; it may be missing */
bool test_folder_copy(const char *from, const char *to); /* which is not there yet; one thread at a time */

#endif
