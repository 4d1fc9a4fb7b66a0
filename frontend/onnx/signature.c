/* What a node must keep to by the schema of its operator, before it is recorded: signatures.def. */
#include <string.h>

#include "frontend/onnx/import.h"
#include "frontend/onnx/narrow.h"

typedef struct signature {
  const char *name;
  int since;
  const char *attributes, *inputs;
} signature;

static const signature signatures[] = {
#define SIGNATURE(name, since, attributes, inputs) {name, since, attributes, inputs},
#define WORDS(operators, attribute, words)
#include "frontend/onnx/signatures.def"
#undef SIGNATURE
#undef WORDS
};

static const struct {
  const char *operators, *attribute, *words;
} words[] = {
#define SIGNATURE(name, since, attributes, inputs)
#define WORDS(operators, attribute, words) {operators, attribute, words},
#include "frontend/onnx/signatures.def"
#undef SIGNATURE
#undef WORDS
};
enum { SIGNATURE_COUNT = sizeof signatures / sizeof *signatures, WORDS_COUNT = sizeof words / sizeof *words };

/* Values of AttributeProto.type, by kind. */
static const struct {
  char kind;
  int type;
  const char *name;
} kinds[] = {{'f', ONNX_FLOAT, "a float"},           {'i', ONNX_INT, "an integer"},
             {'s', ONNX_STRING, "a string"},         {'t', ONNX_TENSOR, "a tensor"},
             {'g', ONNX_GRAPH, "a graph"},           {'F', ONNX_FLOATS, "a list of floats"},
             {'I', ONNX_INTS, "a list of integers"}, {'S', ONNX_STRINGS, "a list of strings"}};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

/* The place of a word in a list of words, behind which is a blank, ':' or the end; NULL. */
static const char *find_word(const char *list, wire_bytes word) {
  for (const char *at = list; *at; at += strspn(at, " ")) {
    size_t own = strcspn(at, " :");
    if (own == word.size && memcmp(at, word.at, own) == 0) return at;
    at += strcspn(at, " ");
  }
  return NULL;
}

static int first_of(wire_bytes name) {
  int low = 0, high = SIGNATURE_COUNT;
  while (low < high) {
    int middle = (low + high) / 2;
    const char *own = signatures[middle].name;
    size_t size = strlen(own);
    int order = memcmp(own, name.at, size < name.size ? size : name.size);
    if (order < 0 || (order == 0 && size < name.size)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The names of a list of attributes, with ", " between them. */
static void put_names(const char *list, ir_text *out) {
  if (!*list) ir_text_str(out, "none");
  for (const char *at = list; *at; at += strspn(at, " ")) {
    ir_textf(out, "%s%.*s", at == list ? "" : ", ", (int)strcspn(at, ":"), at);
    at += strcspn(at, " ");
  }
}

/* Another operator set in which the operator has the attribute; NULL. */
static const signature *elsewhere(wire_bytes op, wire_bytes attribute) {
  for (int i = first_of(op); i < SIGNATURE_COUNT && wire_is(op, signatures[i].name); i++)
    if (find_word(signatures[i].attributes, attribute)) return &signatures[i];
  return NULL;
}

static bool refuse_unknown(onnx_node *n, const signature *s, wire_bytes name) {
  ir_text names;
  ir_text_init(&names, n->g->mem);
  put_names(s->attributes, &names);
  const signature *other = elsewhere(n->proto->op, name);
  int last = 0; /* before which operator set it ended */
  for (const signature *k = other; k && k < signatures + SIGNATURE_COUNT && !strcmp(k->name, s->name); k++)
    if (!last && k != other && !find_word(k->attributes, name)) last = k->since;
  ir_text when;
  ir_text_init(&when, n->g->mem);
  if (other && last && last <= n->opset)
    ir_textf(&when, ", but in operator sets %d to %d", other->since, last - 1);
  else if (other) ir_textf(&when, ", but from operator set %d on", other->since);
  onnx_refuse(n, "there is no attribute '%.*s'%s; attributes: %s", WIRE_TEXT(name), ir_text_get(&when),
              ir_text_get(&names));
  ir_text_free(&when);
  ir_text_free(&names);
  return false;
}

static bool kind_fits(onnx_node *n, const onnx_attribute *a, const char *row) {
  char kind = row[strcspn(row, ":") + 1];
  const char *is = "of another kind", *takes = NULL;
  for (int i = 0; i < KIND_COUNT; i++) {
    if (kinds[i].kind == kind && kinds[i].type == a->type) return true;
    if (kinds[i].kind == kind) takes = kinds[i].name;
    if (kinds[i].type == a->type) is = kinds[i].name;
  }
  return !takes || !a->type || /* old files have no types */
         onnx_refuse(n, "the attribute '%.*s' is %s; it must be %s", WIRE_TEXT(a->name), is, takes);
}

static bool word_fits(onnx_node *n, const onnx_attribute *a) {
  for (int i = 0; i < WORDS_COUNT && a->s.size; i++) {
    if (!wire_is(a->name, words[i].attribute) || !find_word(words[i].operators, n->proto->op)) continue;
    if (!find_word(words[i].words, a->s))
      return onnx_refuse(n, "the attribute '%.*s' is '%.*s'; it is one of %s", WIRE_TEXT(a->name),
                         WIRE_TEXT(a->s), words[i].words);
  }
  return true;
}

static bool check_attributes(onnx_node *n, const signature *s) {
  for (int i = 0; i < n->attribute_count; i++) {
    const onnx_attribute *a = &n->attributes[i];
    if (!a->name.size) continue; /* left out */
    const char *row = find_word(s->attributes, a->name);
    if (!row) return refuse_unknown(n, s, a->name);
    if (!kind_fits(n, a, row) || !word_fits(n, a)) return false;
  }
  for (const char *at = s->attributes; *at; at += strspn(at, " ")) {
    size_t length = strcspn(at, ":"), end = strcspn(at, " ");
    char name[64] = "";
    memcpy(name, at, length < sizeof name ? length : sizeof name - 1);
    const char *takes = "given";
    for (int k = 0; k < KIND_COUNT; k++)
      if (kinds[k].kind == at[length + 1]) takes = kinds[k].name;
    if (at[end - 1] == '!' && !onnx_attribute_of(n, name))
      return onnx_refuse(n, "the attribute '%s' is missing; it must be given, %s", name, takes);
    at += end;
  }
  return true;
}

/* The dtype of an input, or its type that is storage alone; NULL: it is left out, or no tensor. */
static const char *dtype_of(onnx_node *n, int input) {
  const onnx_value *v = onnx_has(n, input) ? n->inputs[input] : NULL;
  if (!v || v->sequence || v->absent) return NULL;
  if (v->narrow) return onnx_narrow_of(v->narrow)->name;
  ir_dtype dtype = v->ref      ? ir_dtype_of(n->g, v->ref)
                   : v->known  ? v->known->dtype
                   : v->tensor ? onnx_dtype(v->tensor->dtype)
                               : IR_NONE;
  return dtype == IR_NONE ? NULL : ir_dtypes[dtype].name;
}

static bool check_dtypes(onnx_node *n, const signature *s) {
  const char *seen[26] = {0};
  int where[26] = {0};
  char letter = '.';
  for (int i = 0, at = 0; i < n->input_count; i++) {
    if (s->inputs[at] != '*') letter = s->inputs[at] ? s->inputs[at++] : '.'; /* '*': as the last one */
    const char *dtype = letter == '.' ? NULL : dtype_of(n, i);
    if (!dtype) continue;
    int k = letter - 'a';
    if (seen[k] && strcmp(seen[k], dtype) != 0)
      return onnx_refuse(n,
                         "input %d is of %s, and input %d of %s; both must have one dtype: Cast one of them",
                         where[k], seen[k], i, dtype);
    if (!seen[k]) seen[k] = dtype, where[k] = i;
  }
  return true;
}

bool onnx_check_signature(onnx_node *n) {
  const signature *row = NULL;
  if (wire_is(n->proto->domain, "com.microsoft")) return true; /* other operators, of the same names */
  for (int i = first_of(n->proto->op); i < SIGNATURE_COUNT && wire_is(n->proto->op, signatures[i].name); i++)
    if (!row || signatures[i].since <= n->opset) row = &signatures[i];
  return !row || (check_attributes(n, row) && check_dtypes(n, row));
}
