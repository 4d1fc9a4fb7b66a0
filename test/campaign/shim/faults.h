/* Calls that the shim can let fail (file_calls.c), for the shim and for the program that sets it up. Settings
 * are in the environment:
 *
 *   FAULTS_IN=NAME...   programs whose calls are counted, by the beginning of their file's name;
 *                       other programs are left alone
 *   FAULTS_COUNTS=FILE  an array of one uint32_t for each kind of call: the most that one process makes
 *   FAULTS_FAIL="CALL NUMBER ERRNO"   the NUMBER-th such call of a process, from 1, fails with this
 *                       errno; 0: it does half of the request (read, pread, write) */
#ifndef VIEWFOLD_TEST_CAMPAIGN_SHIM_FAULTS_H
#define VIEWFOLD_TEST_CAMPAIGN_SHIM_FAULTS_H

/* Variants of a call count as one kind: open and open64; stat, fstat, lstat and fstatat. */
#define FAULT_CALLS(X)                                                                                       \
  X(access)                                                                                                  \
  X(close)                                                                                                   \
  X(fclose)                                                                                                  \
  X(fflush)                                                                                                  \
  X(fopen)                                                                                                   \
  X(fsync)                                                                                                   \
  X(ftruncate)                                                                                               \
  X(fwrite)                                                                                                  \
  X(link)                                                                                                    \
  X(memfd_create)                                                                                            \
  X(mkdir)                                                                                                   \
  X(mkdtemp)                                                                                                 \
  X(mmap)                                                                                                    \
  X(mprotect)                                                                                                \
  X(open)                                                                                                    \
  X(openat)                                                                                                  \
  X(opendir)                                                                                                 \
  X(pipe)                                                                                                    \
  X(pread)                                                                                                   \
  X(read)                                                                                                    \
  X(readdir)                                                                                                 \
  X(rename)                                                                                                  \
  X(spawn)                                                                                                   \
  X(stat)                                                                                                    \
  X(unlink)                                                                                                  \
  X(utimens)                                                                                                 \
  X(write)
#define X(name) FAULT_##name,
enum { FAULT_CALLS(X) FAULT_COUNT };
#undef X

#endif
