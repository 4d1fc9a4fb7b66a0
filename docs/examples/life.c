/* Conway's game of life on a board that each run changes in place: a glider on a torus. The edges of the
 * board are its opposite ones, which are copied into a frame around it by writes through views; the cells
 * inside are then computed from all nine shifts of the frame. */
#include <stdio.h>
#include <viewfold.h>

enum { ROWS = 6, COLUMNS = 12, H = ROWS + 2, W = COLUMNS + 2 };

/* The part of the board, of H x W cells with its frame, in rows r0..r1 and columns c0..c1. */
static vf_ref part(vf_ref board, int r0, int r1, int c0, int c1) {
  return vf_ref_view(board, vf_shrink(board.target, VF_LIST(r0, r1, c0, c1)));
}

static void copy(vf_ref to, vf_ref from) { vf_ref_set(to, vf_ref_get(from)); }

static void step(vf_ref board) {
  copy(part(board, 0, 1, 1, W - 1), part(board, H - 2, H - 1, 1, W - 1)); /* above: the last row */
  copy(part(board, H - 1, H, 1, W - 1), part(board, 1, 2, 1, W - 1));
  copy(part(board, 0, H, 0, 1),
       part(board, 0, H, W - 2, W - 1)); /* left: the last column, with the corners */
  copy(part(board, 0, H, W - 1, W), part(board, 0, H, 1, 2));
  vf_ref inside = part(board, 1, H - 1, 1, W - 1);
  vf_value alive = vf_ref_get(inside), around = vf_neg(alive);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) around = vf_add(around, vf_ref_get(part(board, r, r + ROWS, c, c + COLUMNS)));
  vf_graph *g = alive.graph;
  vf_value born = vf_eq(around, vf_integer(g, 3)), stays = vf_eq(vf_add(around, alive), vf_integer(g, 3));
  vf_ref_set(inside, vf_logical_or(born, stays)); /* true is 1 in the board's dtype */
}

static void show(const signed char *board) {
  for (int r = 1; r <= ROWS; r++, putchar('\n'))
    for (int c = 1; c <= COLUMNS; c++) putchar(board[r * W + c] ? '#' : '.');
}

int main(void) {
  static signed char board[H * W];
  static const int glider[5][2] = {{1, 2}, {2, 3}, {3, 1}, {3, 2}, {3, 3}};
  for (int i = 0; i < 5; i++) board[glider[i][0] * W + glider[i][1]] = 1;
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  vf_graph *graph = vf_graph_create(context, "life", &error);
  step(vf_ref_input(graph, "board", VF_I8, VF_LIST(H, W)));
  vf_program *program = vf_compile(graph, &error);
  if (!program) return fprintf(stderr, "%s\n", error.message), 1;
  for (int i = 0; i < 40; i++)
    if (vf_program_run(program, (const void *[]){board}, NULL, NULL, &error) != VF_OK)
      return fprintf(stderr, "%s\n", error.message), 1;
  show(board);
  vf_program_destroy(program), vf_graph_destroy(graph), vf_context_destroy(context);
  return 0;
}
