/* The constants of a context: a hash table by digest. */
#include "runtime/constants.h"

#include <stdio.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/memory/arena.h"
#include "runtime/system/bus_error.h"

enum { FIRST_BUCKETS = 64 /* of a table; it doubles when it holds as many constants */ };

void rt_constants_init(rt_constants *t, const ir_mem *mem) {
  *t = (rt_constants){.mem = mem};
  pthread_mutex_init(&t->lock, NULL);
  pthread_mutex_init(&t->placing, NULL);
}

void rt_constants_free(rt_constants *t) {
  ir_free(t->mem, t->buckets, t->bucket_count * sizeof *t->buckets);
  pthread_mutex_destroy(&t->lock);
  pthread_mutex_destroy(&t->placing);
}

static rt_constant **bucket_of(const rt_constants *t, rt_digest digest) {
  return &t->buckets[digest.lo & (t->bucket_count - 1)];
}

/* Makes room for one more constant. */
static bool reserve(rt_constants *t) {
  if (t->count < t->bucket_count) return true;
  rt_constants wider = *t;
  wider.bucket_count = t->bucket_count ? 2 * t->bucket_count : FIRST_BUCKETS;
  wider.buckets = ir_alloc(t->mem, wider.bucket_count * sizeof *wider.buckets);
  if (!wider.buckets) return false;
  memset(wider.buckets, 0, wider.bucket_count * sizeof *wider.buckets);
  for (size_t i = 0; i < t->bucket_count; i++)
    for (rt_constant *c = t->buckets[i], *next; c; c = next) {
      rt_constant **bucket = bucket_of(&wider, c->digest);
      next = c->next;
      c->next = *bucket;
      *bucket = c;
    }
  ir_free(t->mem, t->buckets, t->bucket_count * sizeof *t->buckets);
  t->buckets = wider.buckets;
  t->bucket_count = wider.bucket_count;
  return true;
}

/* Are the bytes of `c` those that `made` is to have? An array in memory is never taken from a file, which may
 * change; one of a file is, where the file is unchanged. The digest is not cryptographic, so bytes are
 * compared unless they are the same place of the same file. */
static bool is_equal(const rt_constant *c, const rt_constant *made) {
  if (c->size != made->size || (c->file && !made->file)) return false;
  ir_error ignored = {0};
  if (c->file && rt_mapped_check(c->file, &ignored) != IR_OK) return false;
  if (c->bytes == made->bytes || !c->size) return true;
  bool same_place =
      c->file && c->offset == made->offset &&
      memcmp(rt_mapped_identity(c->file), rt_mapped_identity(made->file), sizeof(rt_file_identity)) == 0;
  return same_place || memcmp(c->bytes, made->bytes, c->size) == 0;
}

/* Finds equal bytes; *same_digest: a constant has this digest that does not serve. */
static rt_constant *find_equal(const rt_constants *t, const rt_constant *made, bool *same_digest) {
  *same_digest = false;
  for (rt_constant *c = t->count ? *bucket_of(t, made->digest) : NULL; c; c = c->next) {
    if (!rt_digest_equal(c->digest, made->digest)) continue;
    if (is_equal(c, made)) return c;
    *same_digest = true;
  }
  return NULL;
}

/* The name is the digest and the size: `9f3c…-4096`, and a number of its own behind, which means nothing to
 * other processes, where another constant has the digest. */
static void set_name(rt_constants *t, rt_constant *c, bool same_digest) {
  char digits[RT_DIGEST_HEX];
  rt_digest_hex(c->digest, digits);
  c->is_portable = !same_digest;
  if (same_digest) snprintf(c->name, sizeof c->name, "%s-%zu-%llu", digits, c->size, ++t->serial);
  else snprintf(c->name, sizeof c->name, "%s-%zu", digits, c->size);
}

/* Constants begin at a cache line, large ones at a huge page, and ask for such pages: copying 47 MB into
 * fresh memory is 11,000 page faults less. The address of the allocation is kept just below. */
static size_t align_of(size_t size) { return size >= RT_HUGE_PAGE ? RT_HUGE_PAGE : 64; }

static size_t around(size_t size) { return align_of(size) + sizeof(void *); }

static void *alloc_aligned(const ir_mem *mem, size_t size) {
  size_t align = align_of(size);
  char *block = size <= SIZE_MAX - around(size) ? ir_alloc(mem, size + around(size)) : NULL;
  if (!block) return NULL;
  void **elements = (void **)(((uintptr_t)block + around(size)) & ~(uintptr_t)(align - 1));
  elements[-1] = block;
  if (align == RT_HUGE_PAGE) rt_ask_huge_pages(elements, size);
  return elements;
}

static void free_aligned(const ir_mem *mem, const void *elements, size_t size) {
  if (elements) ir_free(mem, ((void *const *)elements)[-1], size + around(size));
}

void *rt_constant_memory(rt_context *context, size_t size) { return alloc_aligned(&context->mem, size); }
void rt_constant_memory_free(rt_context *context, void *memory, size_t size) {
  free_aligned(&context->mem, memory, size);
}

static void release_bytes(const rt_constants *t, const rt_constant *c) {
  rt_disk_mapping mapping = c->mapping;
  if (mapping.map) rt_disk_unmap(&mapping);
  else if (c->file) rt_mapped_release(c->file);
  else if (c->release) c->release(c->bytes, c->user);
  else free_aligned(t->mem, c->bytes, c->size);
}

/* A use of the constant of the table that is equal to `given`, or of a new one; what `given` owns is taken
 * unless it fails. */
static ir_status add(rt_constants *t, const rt_constant *given, rt_constant **out, ir_error *error) {
  bool same_digest;
  rt_constant *made = ir_alloc(t->mem, sizeof *made);
  if (!made) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a constant of %zu bytes", given->size);
  pthread_mutex_lock(&t->lock);
  rt_constant *found = find_equal(t, given, &same_digest);
  bool good = found || reserve(t);
  if (found) {
    atomic_fetch_add_explicit(&found->uses, 1, memory_order_relaxed);
  } else if (good) {
    rt_constant **bucket = bucket_of(t, given->digest);
    memcpy(made, given, sizeof *made);
    made->table = t;
    made->next = *bucket;
    atomic_init(&made->uses, 1);
    set_name(t, made, same_digest);
    *bucket = made;
    t->count++;
  }
  pthread_mutex_unlock(&t->lock);
  *out = found ? found : made;
  if (!found && good) return IR_OK;
  ir_free(t->mem, made, sizeof *made);
  if (!good) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a constant of %zu bytes", given->size);
  release_bytes(t, given);
  return IR_OK;
}

ir_status rt_constant_add(rt_context *context, const void *bytes, size_t size, rt_release release, void *user,
                          rt_constant **out, ir_error *error) {
  rt_constant given = {
      .digest = rt_digest_of(bytes, size), .bytes = bytes, .size = size, .release = release, .user = user};
  return add(&context->constants, &given, out, error);
}

ir_status rt_constant_map(rt_context *context, rt_mapped_file *file, size_t offset, size_t size,
                          rt_digest digest, rt_constant **out, ir_error *error) {
  rt_constant given = {.digest = digest,
                       .bytes = rt_mapped_bytes(file) + offset,
                       .size = size,
                       .file = file,
                       .offset = offset};
  sigset_t before; /* bytes may be compared */
  rt_mapped_retain(file);
  rt_guard_enter(&before);
  ir_status status = add(&context->constants, &given, out, error);
  rt_guard_leave(&before);
  if (status) rt_mapped_release(file);
  return status;
}

static void release_shared(const void *bytes, void *user) {
  (void)bytes;
  rt_constant_release(user);
}

ir_status rt_constant_share(rt_context *context, rt_constant *c, rt_constant **out, ir_error *error) {
  rt_constant given = {
      .digest = c->digest, .bytes = c->bytes, .size = c->size, .release = release_shared, .user = c};
  if (c->file) return rt_constant_map(context, c->file, c->offset, c->size, c->digest, out, error);
  rt_constant_retain(c);
  ir_status status = add(&context->constants, &given, out, error);
  if (status) rt_constant_release(c);
  return status;
}

bool rt_constant_is_damaged(const rt_constant *c) {
  return c->mapping.guard && rt_guard_damaged(c->mapping.guard);
}

bool rt_constant_is_intact(const rt_constant *c) {
  return !c->release || c->file || rt_digest_equal(rt_digest_of(c->bytes, c->size), c->digest);
}

/* A use of the constant whose name is `name`. */
static rt_constant *find_name(const rt_constants *t, rt_digest digest, const char *name) {
  size_t length = strcspn(name, "/");
  rt_constant *c = t->count ? *bucket_of(t, digest) : NULL;
  while (c && (strncmp(c->name, name, length) != 0 || c->name[length] || rt_constant_is_damaged(c)))
    c = c->next;
  if (c) atomic_fetch_add_explicit(&c->uses, 1, memory_order_relaxed);
  return c;
}

static void name_made(rt_digest recipe, char name[RT_CONSTANT_NAME]) {
  char digits[RT_DIGEST_HEX];
  rt_digest_hex(recipe, digits);
  snprintf(name, RT_CONSTANT_NAME, "made-%s", digits);
}

rt_constant *rt_constant_made_before(rt_context *context, rt_digest recipe) {
  rt_constants *t = &context->constants;
  char name[RT_CONSTANT_NAME];
  name_made(recipe, name);
  pthread_mutex_lock(&t->lock);
  rt_constant *found = find_name(t, recipe, name);
  pthread_mutex_unlock(&t->lock);
  return found;
}

ir_status rt_constant_made(rt_context *context, const rt_made *given, rt_constant **out, ir_error *error) {
  rt_constants *t = &context->constants;
  rt_constant *made = ir_alloc(t->mem, sizeof *made);
  *out = NULL;
  if (!made) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a constant of %zu bytes", given->size);
  *made = (rt_constant){.digest = given->recipe,
                        .bytes = given->bytes,
                        .size = given->size,
                        .mapping = given->mapping,
                        .is_portable = given->is_portable,
                        .table = t};
  atomic_init(&made->uses, 1);
  name_made(given->recipe, made->name);
  pthread_mutex_lock(&t->lock);
  *out = find_name(t, given->recipe, made->name);
  bool known = *out != NULL;
  if (!known && reserve(t)) {
    rt_constant **bucket = bucket_of(t, given->recipe);
    made->next = *bucket;
    *bucket = *out = made;
    t->count++;
  }
  pthread_mutex_unlock(&t->lock);
  if (known) release_bytes(t, made);
  if (*out != made) ir_free(t->mem, made, sizeof *made);
  return *out ? IR_OK
              : ir_fail(error, IR_ERR_MEMORY, "out of memory for a constant of %zu bytes", given->size);
}

ir_status rt_constant_place(rt_context *context, rt_constant *c, void **address, ir_error *error) {
  rt_device *device = context->device;
  ir_status status = IR_OK;
  pthread_mutex_lock(&c->table->placing);
  if (!c->placements) {
    c->placed = (rt_memory){.bytes = c->size, .host = (void *)(uintptr_t)c->bytes, .host_current = true};
    status = device->table->memory_place(device, &c->placed, true, error);
  }
  if (!status) {
    c->placements++;
    *address = c->placed.address;
  }
  pthread_mutex_unlock(&c->table->placing);
  return status;
}

void rt_constant_displace(rt_context *context, rt_constant *c) {
  pthread_mutex_lock(&c->table->placing);
  if (--c->placements == 0) context->device->table->memory_free(context->device, &c->placed);
  pthread_mutex_unlock(&c->table->placing);
}

ir_status rt_constant_copy(rt_context *context, const void *bytes, size_t size, rt_constant **out,
                           ir_error *error) {
  void *copy = rt_constant_memory(context, size);
  if (!copy) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a constant of %zu bytes", size);
  if (size) memcpy(copy, bytes, size);
  ir_status status = rt_constant_add(context, copy, size, NULL, NULL, out, error);
  if (status) rt_constant_memory_free(context, copy, size);
  return status;
}

rt_constant *rt_constant_find(rt_context *context, const char *name) {
  rt_constants *t = &context->constants;
  rt_digest digest;
  if (!rt_digest_read(name, &digest)) return NULL;
  pthread_mutex_lock(&t->lock);
  rt_constant *found = find_name(t, digest, name);
  pthread_mutex_unlock(&t->lock);
  return found;
}

void rt_constant_retain(rt_constant *c) { atomic_fetch_add_explicit(&c->uses, 1, memory_order_relaxed); }

/* The last use is given up under the lock, so that no other thread finds the constant meanwhile. */
void rt_constant_release(rt_constant *c) {
  if (!c) return;
  rt_constants *t = c->table;
  pthread_mutex_lock(&t->lock);
  bool last = atomic_fetch_sub_explicit(&c->uses, 1, memory_order_acq_rel) == 1;
  if (last) {
    rt_constant **at = bucket_of(t, c->digest);
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    t->count--;
  }
  pthread_mutex_unlock(&t->lock);
  if (!last) return;
  release_bytes(t, c);
  ir_free(t->mem, c, sizeof *c);
}

const char *rt_constant_name(const rt_constant *c) { return c->name; }
const void *rt_constant_bytes(const rt_constant *c) { return c->bytes; }
size_t rt_constant_size(const rt_constant *c) { return c->size; }
rt_mapped_file *rt_constant_file(const rt_constant *c) { return c->file; }
