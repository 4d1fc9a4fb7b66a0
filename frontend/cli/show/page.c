/* The page: the template, with the markers replaced by title, style, scripts and data. */
#include "frontend/cli/show/show.h"

#include <stdlib.h>
#include <string.h>

#include "show_page.h" /* show.html, show.css and the show*.js as arrays */

static void put_html(ir_text *out, const char *text) {
  static const char *const names[128] = {['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"};
  for (; *text; text++) {
    const char *name = (unsigned char)*text < 128 ? names[(unsigned char)*text] : NULL;
    if (name) ir_text_str(out, name);
    else ir_text_add(out, text, 1);
  }
}

/* Within a script element only `<` can be taken for markup, and in JSON it stands in strings alone. */
static void put_json(ir_text *out, const json_t *data) {
  char *text = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII);
  if (!text) out->failed = true;
  for (const char *at = text; at && *at;) {
    size_t plain = strcspn(at, "<");
    ir_text_add(out, at, plain);
    at += plain;
    if (*at) ir_text_str(out, "\\u003c"), at++;
  }
  free(text);
}

/* In the order in which they need one another. */
static const char *const scripts[] = {show_expression_js, show_step_js,   show_stages_js,  show_model_js,
                                      show_crowd_js,      show_layout_js, show_picture_js, show_network_js,
                                      show_mesh_js,       show_js};

bool show_page(const char *title, const json_t *data, ir_text *out) {
  const char *at = show_html;
  for (const char *marker; (marker = strchr(at, '@')); at = marker + 3) {
    ir_text_add(out, at, (size_t)(marker - at));
    switch (marker[1]) { /* the name of a marker is one letter between two @ */
    case 'T': put_html(out, title); break;
    case 'C': ir_text_str(out, show_css); break;
    case 'S':
      for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) ir_text_str(out, scripts[i]);
      break;
    case 'L':
      ir_text_str(out, show_notices_js);
      ir_text_str(out, dagre_min_js);
      break;
    case 'D': put_json(out, data); break;
    default: break;
    }
  }
  ir_text_str(out, at);
  return !out->failed;
}
