/* Loading from a file in memory, and checking what the dynamic linker made of it.
 *
 * dlopen first compares the name it is given with those of the libraries that are loaded, then the file's
 * device and inode; on either match it gives that library, whatever the file holds. The number of a
 * descriptor is no name to go by: it returns as soon as somebody closes it, which may be the host of this
 * library (a daemon closes all that it does not know). The inode is one: the mappings of a library keep its
 * file, so no other file in memory has its number. The path of a descriptor is therefore spelled so that it
 * tells the inode. Source: dl-load.c of glibc 2.36, _dl_map_object and _dl_map_object_from_fd. */
#define _GNU_SOURCE /* memfd_create, dlinfo, dl_iterate_phdr */
#include "runtime/native/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cache/identity.h"
#include "runtime/system/files.h"

void rt_library_id_option(rt_digest id, char option[RT_LIBRARY_ID_ROOM]) {
  char hex[RT_DIGEST_HEX];
  rt_digest_hex(id, hex);
  snprintf(option, RT_LIBRARY_ID_ROOM, "-Wl,--build-id=0x%s", hex);
}

/* names */

enum { INODE_BITS = 64, NAME_ROOM = 32 + 2 * INODE_BITS };

/* A path of `fd` that no other inode's has: in "/proc/self/fd/" + one "./" or "/" for each bit + "N", neither
 * means anything to the kernel. */
static void spell(int fd, uint64_t inode, char name[NAME_ROOM]) {
  size_t length = (size_t)snprintf(name, NAME_ROOM, "/proc/self/fd/");
  for (int bit = 0; bit < INODE_BITS; bit++)
    length += (size_t)snprintf(name + length, NAME_ROOM - length, inode >> bit & 1 ? "./" : "/");
  snprintf(name + length, NAME_ROOM - length, "%d", fd);
}

static void *open_bytes(const char *who, const void *object, size_t size, ir_error *error) {
  char name[NAME_ROOM];
  struct stat status;
  void *handle = NULL;
  int fd = memfd_create("viewfold-custom", MFD_CLOEXEC);
  if (fd < 0 || !rt_write_all(fd, object, size) || fstat(fd, &status)) {
    ir_fail(error, IR_ERR_IO, "%s: cannot keep its code in memory: %s", who, strerror(errno));
  } else {
    spell(fd, status.st_ino, name);
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) ir_fail(error, IR_ERR_IO, "%s: cannot load its code: %.300s", who, dlerror());
  }
  if (fd >= 0) close(fd);
  return handle;
}

/* checking */

typedef struct search {
  const struct link_map *map;
  char id[RT_DIGEST_HEX];
  uintptr_t function;
  bool right, holds; /* its build-id is `id`; `function` lies in its code */
} search;

static bool has_id(const struct dl_phdr_info *library, const ElfW(Phdr) * segment, const char *id) {
  char hex[RT_DIGEST_HEX];
  const uint8_t *notes = (const uint8_t *)(uintptr_t)(library->dlpi_addr + segment->p_vaddr);
  return rt_build_id_notes(notes, segment->p_filesz, hex, sizeof hex) && strcmp(hex, id) == 0;
}

static int look_at(struct dl_phdr_info *library, size_t size, void *user) {
  search *s = user;
  (void)size;
  if (library->dlpi_addr != s->map->l_addr || strcmp(library->dlpi_name, s->map->l_name) != 0) return 0;
  for (ElfW(Half) i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &library->dlpi_phdr[i];
    if (p->p_type == PT_NOTE) s->right |= has_id(library, p, s->id);
    if (p->p_type == PT_LOAD && p->p_flags & PF_X)
      s->holds |= s->function - (library->dlpi_addr + p->p_vaddr) < p->p_memsz;
  }
  return 1;
}

ir_status rt_library_load(const char *who, const void *object, size_t size, rt_digest id, const char *symbol,
                          void **handle, void (**function)(void), ir_error *error) {
  struct link_map *map = NULL;
  search s = {0};
  void *found = NULL;
  *function = NULL;
  *handle = open_bytes(who, object, size, error);
  if (!*handle) return error->status;
  rt_digest_hex(id, s.id);
  if (dlinfo(*handle, RTLD_DI_LINKMAP, &map) == 0) {
    found = dlsym(*handle, symbol); /* in what the library needs as well: `holds` says that it is its own */
    s.map = map, s.function = (uintptr_t)found;
    dl_iterate_phdr(look_at, &s);
  }
  if (s.right && s.holds) {
    memcpy(function, &found, sizeof found); /* ISO C has no cast from one to the other */
    return IR_OK;
  }
  rt_library_close(handle);
  if (!s.right)
    return ir_fail(
        error, IR_ERR_IO,
        "%s: the dynamic linker gave other code than its own (build-id %s); were descriptors of this "
        "process closed meanwhile?",
        who, s.id);
  return ir_fail(error, IR_ERR_COMPILE, "%s: its source has no function %.60s that is not static", who,
                 symbol);
}

void rt_library_close(void **handle) {
  if (*handle) dlclose(*handle);
  *handle = NULL;
}
