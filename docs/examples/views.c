/* Windows of three elements, as a view: no array is needed to ask where they lie. */
#include <stdio.h>
#include <viewfold.h>

int main(void) {
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  vf_graph *graph = vf_graph_create(context, "windows", &error);
  vf_view line = vf_view_create(graph, VF_LIST(1, 8), NULL, 0, NULL);
  vf_view tiled = vf_view_reshape(vf_view_expand(line, VF_LIST(7, 8)), VF_LIST(56));
  vf_view rows = vf_view_reshape(vf_view_shrink(tiled, VF_LIST(0, 54)), VF_LIST(6, 9));
  vf_view windows = vf_view_shrink(rows, VF_LIST(0, 6, 0, 3));
  vf_view back = vf_view_invert(windows, VF_LIST(8)); /* elements are read more than once: there is none */
  char *text = vf_view_text(windows, &error), *index = vf_view_index(windows, 0, NULL, &error);
  if (text && index) printf("%s\n%s\n%s\n", text, index, vf_view_ok(back) ? "inverse" : "no inverse");
  else fprintf(stderr, "%s\n", *vf_graph_message(graph) ? vf_graph_message(graph) : error.message);
  int failed = !text || !index;
  vf_text_free(context, text);
  vf_text_free(context, index);
  vf_graph_destroy(graph);
  vf_context_destroy(context);
  return failed;
}
