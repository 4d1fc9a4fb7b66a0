#define _GNU_SOURCE /* O_PATH */
#include "runtime/cache/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

/* LINKS_MOST: the number of symbolic links that Linux follows while it resolves one path
 * (path_resolution(7)). */
enum { DIRECTORY = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, LINKS_MOST = 40 };

/* A path being resolved, component by component; fd is the directory reached. refusal->path holds the
 * components resolved so far, for messages; the remaining path begins at text[at]. */
typedef struct walk {
  int fd;
  bool make, absolute;
  int links;
  rt_refusal *refusal;
  size_t at;
  char text[RT_DISK_PATH];
} walk;

static bool is_ours(const struct stat *s) { return s->st_uid == geteuid() || s->st_uid == 0; }

static void describe_owner(const struct stat *s, const char *what, char why[RT_DISK_WHY]) {
  snprintf(why, RT_DISK_WHY, "%sbelongs to user %lu; it must belong to user %lu, who runs this, or to root",
           what, (unsigned long)s->st_uid, (unsigned long)geteuid());
}

bool rt_is_trusted(const struct stat *s, char why[RT_DISK_WHY]) {
  if (!is_ours(s)) {
    describe_owner(s, "", why);
    return false;
  }
  if (!(s->st_mode & (S_IWGRP | S_IWOTH))) return true;
  snprintf(why, RT_DISK_WHY, "%s may write to it (mode %04o)%s; chmod go-w it",
           s->st_mode & S_IWOTH ? "others" : "its group", (unsigned)s->st_mode & 07777,
           s->st_mode & S_IWOTH ? "" : ", even if that is the user's own");
  return false;
}

static bool refuse_path(rt_refusal *refusal, const char *why) {
  snprintf(refusal->why, sizeof refusal->why, "%s", why);
  return false;
}

/* May the link, which lies in the directory w->fd, be followed? */
static bool may_follow(const walk *w, const struct stat *link) {
  struct stat place;
  if (!is_ours(link)) {
    describe_owner(link, "is a symbolic link that ", w->refusal->why);
    return false;
  }
  if (fstat(w->fd, &place)) return false;
  if (is_ours(&place) && (!(place.st_mode & (S_IWGRP | S_IWOTH)) || place.st_mode & S_ISVTX)) return true;
  return refuse_path(w->refusal,
                     "is a symbolic link in a directory that others may change; name the directory "
                     "that it leads to");
}

static bool fails(int why) {
  errno = why;
  return false;
}

/* Prepend the target of the link to the remaining path. */
static bool follow_link(walk *w, const char *name) {
  char target[RT_DISK_PATH];
  ssize_t got = readlinkat(w->fd, name, target, sizeof target);
  if (got < 0) return false;
  size_t length = (size_t)got, left = strlen(w->text + w->at);
  if (length + 1 + left >= sizeof w->text) return fails(ENAMETOOLONG);
  memmove(w->text + length + 1, w->text + w->at, left + 1);
  memcpy(w->text, target, length);
  w->text[length] = '/';
  w->at = 0;
  if (*target != '/') return true;
  close(w->fd);
  w->absolute = true;
  w->refusal->path[0] = 0;
  return (w->fd = open("/", DIRECTORY)) >= 0;
}

static int open_or_make(int at, const char *name, bool make) {
  int fd = openat(at, name, DIRECTORY);
  if (fd >= 0 || errno != ENOENT || !make) return fd;
  if (mkdirat(at, name, 0700) && errno != EEXIST) return -1;
  return openat(at, name, DIRECTORY);
}

/* Append a name to a path, with a slash in front if `slash`. */
static bool append_name(char path[RT_DISK_PATH], bool slash, const char *name) {
  size_t length = strlen(path), more = strlen(name);
  if (length + slash + more >= RT_DISK_PATH) return fails(ENAMETOOLONG);
  if (slash) path[length++] = '/';
  memcpy(path + length, name, more + 1);
  return true;
}

static bool step_into(walk *w, const char *name, bool last) {
  rt_refusal *refusal = w->refusal;
  size_t before = strlen(refusal->path);
  if (!append_name(refusal->path, before || w->absolute, name)) return false;
  int next = open_or_make(w->fd, name, w->make);
  if (next >= 0) {
    close(w->fd);
    w->fd = next;
    return true;
  }
  struct stat s;
  if (errno != ENOTDIR && errno != ELOOP) return false;
  if (fstatat(w->fd, name, &s, AT_SYMLINK_NOFOLLOW)) return false;
  if (!S_ISLNK(s.st_mode)) return fails(ENOTDIR);
  if (last) return refuse_path(refusal, "is a symbolic link; name the directory that it leads to");
  if (!may_follow(w, &s)) return false;
  if (++w->links > LINKS_MOST) return fails(ELOOP);
  refusal->path[before] = 0;
  return follow_link(w, name);
}

static const char *skip_slashes(const char *at) {
  while (*at == '/' || (*at == '.' && (at[1] == '/' || !at[1]))) at++;
  return at;
}

/* Step into the next component. False at the end of the path, and on failure; *good is false after a failure
 * alone. */
static bool advance_name(walk *w, bool *good) {
  char *name = w->text + (skip_slashes(w->text + w->at) - w->text), *end = name + strcspn(name, "/");
  if (!*name) return false;
  w->at = (size_t)(end - w->text);
  if (*end) *end = 0, w->at++;
  *good = step_into(w, name, !*skip_slashes(w->text + w->at));
  return *good;
}

int rt_dir_open(const char *directory, bool make, rt_refusal *refusal) {
  walk w = {.make = make, .absolute = *directory == '/', .refusal = refusal};
  struct stat s;
  snprintf(w.text, sizeof w.text, "%s", directory);
  refusal->path[0] = refusal->why[0] = 0;
  w.fd = open(w.absolute ? "/" : ".", DIRECTORY);
  bool good = w.fd >= 0;
  while (good && advance_name(&w, &good)) {}
  if (good) {
    snprintf(refusal->path, sizeof refusal->path, "%s", directory);
    if (fstat(w.fd, &s) == 0 && rt_is_trusted(&s, refusal->why)) return w.fd;
  }
  int why = errno;
  if (w.fd >= 0) close(w.fd);
  errno = why;
  return -1;
}

int rt_dir_shard(int directory, const char *name, bool make, rt_refusal *refusal) {
  struct stat s;
  refusal->why[0] = 0;
  int fd = open_or_make(directory, name, make), why = errno;
  if (fd >= 0 && fstat(fd, &s) == 0 && rt_is_trusted(&s, refusal->why)) return fd;
  if (fd >= 0) close(fd);
  else if ((why == ENOTDIR || why == ELOOP) && fstatat(directory, name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISLNK(s.st_mode))
    refuse_path(refusal, "is a symbolic link; nothing is read or removed behind it");
  if (refusal->why[0]) append_name(refusal->path, true, name);
  errno = why;
  return -1;
}
