/* Temporary folders for tests. */
#ifndef VIEWFOLD_TEST_FOLDER_H
#define VIEWFOLD_TEST_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

bool test_folder_make(char *path, size_t size); /* creates a new one in $TMPDIR or /tmp and writes its path */
void test_folder_remove(const char *path);      /* recursively; it may be missing */
bool test_folder_copy(const char *from, const char *to); /* `to` must not exist; not thread-safe */

#endif
