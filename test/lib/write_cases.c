#include "test/lib/write_cases.h"

#include <stdio.h>
#include <string.h>

static const char *const operations[] = {"set", "add", "sub", "mul", "div", "min", "max"};
enum { OPERATIONS = sizeof operations / sizeof *operations, THROUGH_GATHERS = 3 /* the first ones */ };

/* `#` is the view of `@`, an array of shape [3,4]; `value` makes a value of the view's shape. */
static const struct {
  const char *view, *value;
  bool gathers;
} views[] = {
    {"%# = shrink %@ bounds=[[1,3],[0,4]]\n", "%# = shrink %@ bounds=[[0,2],[0,4]]\n", false},
    {"%# = permute %@ order=[1,0]\n", "%# = permute %@ order=[1,0]\n", false},
    {"%# = stride %@ steps=[2,2]\n", "%# = shrink %@ bounds=[[0,2],[1,3]]\n", false},
    {"%# = flip %@ axes=[0,1]\n", "%# = mul %@, 1\n", false},
    {"%# = pad %@ pads=[[1,0],[0,1]]\n", "%# = pad %@ pads=[[0,1],[1,0]] value=0.705\n", false},
    {"%#i = data values=[2,0,2]\n%# = gather %@, %#i axis=0\n", "%# = mul %@, 1\n", true},
    {"%#i = argmax %c axis=1\n%# = gather %@, %#i axis=1\n", "%# = shrink %@ bounds=[[0,3],[0,3]]\n", true},
    {"%#1 = permute %@ order=[1,0]\n%#2 = reshape %#1 shape=[2,6]\n%#3 = shrink %#2 bounds=[[0,2],[1,5]]\n"
     "%# = stride %#3 steps=[1,-2]\n",
     "%# = shrink %@ bounds=[[1,3],[1,3]]\n", false},
};
enum { VIEWS = sizeof views / sizeof *views };

/* What is done with the view %t of the positions; `$` is the operation, `[NAME SOURCE]` makes a view, `(NAME
 * SOURCE)` a value of its shape. */
static const struct {
  const char *text;
  bool positive;
} uses[] = {
    {"(u b)%y = assign %a, %t, %u op=$\n", false},
    {"(u b)(v c)%m = assign %a, %t, %u op=$\n%y = assign %m, %t, %v op=$\n", false},
    {"(u b)%m = assign %a, %t, %u op=$\n%q = point %p index=1 axis=1\n%v = point %c index=0 axis=1\n"
     "%y = assign %m, %q, %v\n",
     false},
    {"(u b)[r a]%w = add %u, 1.5\n%z = mul %r, %w\n%m = assign %a, %t, %z op=$\n[s m]%v = mul %r, %s\n"
     "%y = assign %m, %t, %v op=add\n",
     true},
};
enum { USES = sizeof uses / sizeof *uses };

size_t write_case_count(void) { return (size_t)OPERATIONS * VIEWS * USES; }

typedef struct writer {
  char *text;
  size_t length, room;
} writer;

static void put(writer *w, char c) {
  if (w->length + 1 < w->room) w->text[w->length++] = c;
  w->text[w->length] = '\0';
}

static void put_text(writer *w, const char *text) {
  while (*text) put(w, *text++);
}

/* A template of one character each for the name of the result and of the source. */
static void put_view(writer *w, const char *text, char name, char source) {
  for (; *text; text++) put(w, *text == '#' ? name : *text == '@' ? source : *text);
}

bool write_case(size_t number, char *text, size_t room, bool *positive) {
  size_t o = number % OPERATIONS, v = number / OPERATIONS % VIEWS, use = number / OPERATIONS / VIEWS;
  writer w = {text, 0, room};
  if (views[v].gathers && o >= THROUGH_GATHERS) return false;
  *positive = uses[use].positive;
  put_text(&w, "graph @write(%a: f64[3,4], %b: f64[3,4], %c: f64[3,4]) {\n%p = address %a\n");
  put_view(&w, views[v].view, 't', 'p');
  for (const char *at = uses[use].text; *at; at++) {
    bool view = *at == '[', value = *at == '(';
    if (view || value) {
      put_view(&w, view ? views[v].view : views[v].value, at[1], at[3]);
      at += strlen("[r a]") - 1;
    } else if (*at == '$') {
      put_text(&w, operations[o]);
    } else {
      put(&w, *at);
    }
  }
  put_text(&w, "return %y\n}\n");
  return true;
}
