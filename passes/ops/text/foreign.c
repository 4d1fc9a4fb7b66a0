/* What to write in place of a name that no operation has: the name as it is here, the row of foreign.def, or
 * the nearest names. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "ir/lex/nearest.h"
#include "passes/ops/foreign.h"

typedef struct foreign_row {
  const char *names;
  const char *written; /* NULL: there is none */
  const char *instead;
} foreign_row;

static const foreign_row foreign[] = {
#define FOREIGN(names, written) {names, written, NULL},
#define ABSENT(names, instead)  {names, NULL, instead},
#define FOREIGN_ATTRIBUTE(names, ours)
#define FOREIGN_USE(operation, names, written)
#include "passes/ops/foreign.def"
#undef FOREIGN
#undef ABSENT
#undef FOREIGN_ATTRIBUTE
#undef FOREIGN_USE
};

static const struct {
  const char *operation; /* NULL: any */
  const char *names, *ours;
} attributes[] = {
#define FOREIGN(names, written)
#define ABSENT(names, instead)
#define FOREIGN_ATTRIBUTE(names, ours)         {NULL, names, ours},
#define FOREIGN_USE(operation, names, written) {operation, names, written},
#include "passes/ops/foreign.def"
#undef FOREIGN
#undef ABSENT
#undef FOREIGN_ATTRIBUTE
#undef FOREIGN_USE
};
enum { ATTRIBUTE_COUNT = sizeof attributes / sizeof *attributes };
enum { FOREIGN_COUNT = sizeof foreign / sizeof *foreign };
enum { NAME_BYTES = 32 };  /* because no name is longer */
enum { NEAREST_MOST = 4 }; /* because more are no help */

/* names as they are compared */

typedef struct plain_name {
  char text[NAME_BYTES];
  size_t length; /* 0: it is longer than any name */
} plain_name;

/* In small letters, without "_", and without what stands before the last '.' or ':', or `vf_`:
 * Torch.Layer_Norm and vf_layer_norm are layernorm. */
static plain_name plain(const char *name, size_t length) {
  plain_name p = {.length = 0};
  for (size_t i = 0; i < length; i++)
    if (name[i] == '.' || name[i] == ':') name += i + 1, length -= i + 1, i = (size_t)-1;
  if (length > 3 && memcmp(name, "vf_", 3) == 0) name += 3, length -= 3;
  for (size_t i = 0; i < length; i++) {
    if (name[i] == '_') continue;
    if (p.length == NAME_BYTES) return (plain_name){.length = 0};
    p.text[p.length++] = (char)tolower((unsigned char)name[i]);
  }
  return p;
}

static bool same(const plain_name *a, const char *name, size_t length) {
  plain_name b = plain(name, length);
  return a->length && a->length == b.length && memcmp(a->text, b.text, a->length) == 0;
}

const char *op_foreign_row(size_t number, const char **written, const char **instead) {
  if (number >= FOREIGN_COUNT) return NULL;
  *written = foreign[number].written, *instead = foreign[number].instead;
  return foreign[number].names;
}

static bool lists(const char *names, const plain_name *name) {
  for (const char *at = names; *at; at += strspn(at, " ")) {
    size_t length = strcspn(at, " ");
    if (length == name->length && memcmp(at, name->text, length) == 0) return true;
    at += length;
  }
  return false;
}

static const foreign_row *find_row(const plain_name *name) {
  for (size_t i = 0; i < FOREIGN_COUNT; i++)
    if (lists(foreign[i].names, name)) return &foreign[i];
  return NULL;
}

/* Appends "; NAME is called ..." with the first of `ours` that is accepted. */
static bool put_called(const char *name, size_t length, const char *ours, const op_attr_set *accepted,
                       ir_text *out) {
  for (const char *at = ours; *at; at += strspn(at, " ")) {
    size_t own = strcspn(at, " ");
    for (int k = 0; k < OP_ATTR_COUNT; k++) {
      const char *word = op_attr_name(k);
      if (!op_attr_in(accepted, k) || strlen(word) != own || memcmp(word, at, own) != 0) continue;
      ir_textf(out, "; %.*s is called %s here", (int)length, name, word);
      return true;
    }
    at += own;
  }
  return false;
}

bool op_put_foreign_attribute(const char *operation, const char *name, size_t length,
                              const op_attr_set *accepted, ir_text *out) {
  plain_name p = plain(name, length);
  for (size_t i = 0; i < ATTRIBUTE_COUNT && p.length; i++) {
    const char *only = attributes[i].operation;
    if (!lists(attributes[i].names, &p) || (only && *only != '*' && strcmp(only, operation) != 0)) continue;
    if (only) ir_textf(out, "; here that is %s", attributes[i].ours);
    if (only || put_called(name, length, attributes[i].ours, accepted, out)) return true;
  }
  return false;
}

/* Our name for it, where letters and "_" alone differ. */
static const char *find_own(const plain_name *name) {
  ir_op op;
  const char *own;
  for (size_t i = 0; (own = op_name_at(i, &op)); i++)
    if (same(name, own, strlen(own))) return own;
  return NULL;
}

const char *op_foreign_operation(const char *name, size_t length, size_t *bytes) {
  plain_name p = plain(name, length);
  const char *own = p.length ? find_own(&p) : NULL;
  const foreign_row *row = p.length && !own ? find_row(&p) : NULL;
  const char *equals = row && row->written && !strchr(row->written, ';') ? strstr(row->written, "= ") : NULL;
  const char *found = own ? own : equals ? equals + 2 : NULL;
  *bytes = found ? strcspn(found, " ") : 0;
  return found;
}

/* the nearest */

static bool begins_alike(const char *a, size_t n, const char *b) {
  size_t m = strlen(b);
  return strncmp(a, b, n < m ? n : m) == 0;
}

/* Appends the nearest operations; of equally near ones, those alone that begin as the name does. False: none
 * is near. */
static bool put_nearest(const char *name, size_t length, ir_text *out) {
  unsigned nearest = (unsigned)length / 3;
  const char *close[NEAREST_MOST], *own;
  int found = 0;
  bool alike = false;
  ir_op op;
  for (size_t i = 0; length <= NAME_BYTES && (own = op_name_at(i, &op)); i++) {
    unsigned d = ir_name_distance(name, length, own, strlen(own));
    bool begins = begins_alike(name, length, own), known = false;
    if (d > nearest || (d == nearest && alike && !begins)) continue;
    if (d < nearest || (begins && !alike)) found = 0;
    nearest = d;
    alike = begins;
    for (int k = 0; k < found; k++) known |= strcmp(close[k], own) == 0;
    if (!known && found < NEAREST_MOST) close[found++] = own;
  }
  for (int k = 0; k < found; k++) ir_textf(out, "%s%s", k ? ", " : "nearest: ", close[k]);
  return found > 0;
}

/* Appends the operations whose names are words of the name: mean of mean_absolute_deviation. */
static bool put_words(const char *name, size_t length, ir_text *out) {
  size_t words = 0;
  for (const char *at = name, *end = name + length; at < end; at++) {
    const char *word = at;
    while (at < end && *at != '_') at++;
    plain_name p = plain(word, (size_t)(at - word));
    const char *own = p.length ? find_own(&p) : NULL;
    if (own && p.length < length) ir_textf(out, "%s%s", words++ ? ", " : "there are ", own);
  }
  return words > 0;
}

void op_put_instead(const char *name, size_t length, ir_text *out) {
  plain_name p = plain(name, length);
  const char *own = p.length ? find_own(&p) : NULL;
  const foreign_row *row = p.length ? find_row(&p) : NULL;
  if (own) ir_textf(out, "here it is %s", own);
  else if (row && row->written) ir_textf(out, "here it is %s", row->written);
  else if (row) ir_text_str(out, row->instead);
  else if (!put_nearest(name, length, out) && !put_words(name, length, out))
    ir_text_str(out, "docs/operations.md and `viewfold ops` list them");
}

/* Is the word one of the text's, between blanks, and not the first? */
static bool has_word(const char *text, const char *word) {
  size_t length = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at += length)
    if (at > text && at[-1] == ' ' && at[length] == ' ') return true;
  return false;
}

void op_put_instead_attribute(const char *name, size_t length, const char *attr, size_t attr_length,
                              ir_text *out) {
  plain_name operation = plain(name, length), a = plain(attr, attr_length);
  const foreign_row *row = operation.length ? find_row(&operation) : NULL;
  for (size_t i = 0; i < ATTRIBUTE_COUNT && a.length && row && row->written; i++) {
    const char *only = attributes[i].operation;
    if (!only || !has_word(row->written, only) || !lists(attributes[i].names, &a)) continue;
    ir_textf(out, "; %.*s is %s", (int)attr_length, attr, attributes[i].ours);
    return;
  }
}
