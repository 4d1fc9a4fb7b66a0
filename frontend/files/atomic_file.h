/* Files written whole or not at all: the bytes go to a temporary file in the target's directory, which takes
 * the target's name at commit. Until then an existing target keeps its contents; a failure removes the
 * temporary. It has no name, where the system has such files (O_TMPFILE), so that it goes with the process.
 *
 * The new file has the permission bits of the one it replaces (otherwise 0666 less the umask), a target
 * without write permission is refused, and a symbolic link is followed. What cannot be replaced (a pipe, a
 * terminal, /dev/null) and what is already open as standard output or standard error is written directly.
 * Where files have names, a process killed in between leaves one named .viewfold-*.tmp behind. */
#ifndef VIEWFOLD_FRONTEND_FILES_ATOMIC_FILE_H
#define VIEWFOLD_FRONTEND_FILES_ATOMIC_FILE_H

#include "ir/base.h"

enum { FE_PATH_MAX = 4096 };

typedef struct fe_atomic_file {
  const char *name; /* as the user wrote it; borrowed until commit or abandon */
  int fd;           /* -1 when closed */
  bool direct;
  char target[FE_PATH_MAX];    /* symbolic links resolved */
  char temporary[FE_PATH_MAX]; /* its name; empty: it has none */
} fe_atomic_file;

/* After a failed open, write or commit nothing is left open or on disk; abandoning it then is harmless. */
ir_status fe_atomic_open(fe_atomic_file *file, const char *path, ir_error *error);
ir_status fe_atomic_stdout(fe_atomic_file *file, ir_error *error); /* standard output, whatever it is */
/* Gives the temporary file its name, by which others open it, unless it has one. */
ir_status fe_atomic_name(fe_atomic_file *file, ir_error *error);
/* Are two open files the same, whatever their names? */
bool fe_atomic_same(const fe_atomic_file *a, const fe_atomic_file *b);
ir_status fe_atomic_write(fe_atomic_file *file, const void *bytes, size_t size, ir_error *error);
ir_status fe_atomic_commit(fe_atomic_file *file, ir_error *error);
void fe_atomic_abandon(fe_atomic_file *file);

#endif
