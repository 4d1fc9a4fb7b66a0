/* Heat spreads over a plate whose rows are divided among devices: of one process, or of all that mpirun has
 * started.
 *
 *   heat [DEVICES]
 *   mpirun -n 4 heat 8
 *
 * Each process has the rows of its own devices and no others. A step is written for the whole plate; what a
 * device needs of its neighbours, a row above and one below, is exchanged by the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <viewfold.h>

enum { ROWS = 120, COLUMNS = 96, STEPS = 500, MOST_DEVICES = 64 };

/* The plate, moved by some rows and columns; beyond its edge it is cold. */
static vf_value moved(vf_value plate, int64_t rows, int64_t columns) {
  int64_t before[] = {rows > 0 ? rows : 0, columns > 0 ? columns : 0};
  int64_t after[] = {rows < 0 ? -rows : 0, columns < 0 ? -columns : 0};
  vf_value padded = vf_pad(plate, VF_LIST(before[0], after[0], before[1], after[1]));
  return vf_shrink(padded, VF_LIST(after[0], after[0] + ROWS, after[1], after[1] + COLUMNS));
}

/* From plate to next, of which each device has some rows, and the greatest heat, which all have. */
static vf_program *compile_step(vf_context *context, int devices, vf_error *error) {
  char axes[32];
  snprintf(axes, sizeof axes, "row=%d", devices);
  vf_mesh *mesh = vf_mesh_create(context, axes, error);
  vf_graph *graph = vf_graph_create(context, "heat", error);
  vf_program *program = NULL;
  if (mesh && graph && vf_graph_set_mesh(graph, mesh, error) == VF_OK) {
    vf_value plate = vf_input_sharded(graph, "plate", VF_F32, VF_LIST(ROWS, COLUMNS), "[row,-]");
    vf_value around = vf_add(vf_add(moved(plate, 1, 0), moved(plate, -1, 0)),
                             vf_add(moved(plate, 0, 1), moved(plate, 0, -1)));
    vf_value next = vf_add(vf_mul(plate, vf_number(graph, 0.5)), vf_mul(around, vf_number(graph, 0.125)));
    vf_output(graph, "next", vf_shard(next, "[row,-]"));
    vf_output(graph, "greatest", vf_reduce_max(next, VF_ALL, false));
    program = vf_compile_on(graph, NULL, 0, error);
  }
  vf_graph_destroy(graph), vf_mesh_destroy(mesh);
  return program;
}

/* Parts of this process's devices, `first` to first + count: the plate twice, since steps read one and write
 * the other. */
typedef struct plates {
  float *part[2][MOST_DEVICES], greatest[MOST_DEVICES];
  int64_t first, count;
} plates;

/* Cold, but for a square in the middle. */
static int fill(const vf_program *program, plates *p, vf_error *error) {
  for (int64_t d = p->first; d < p->first + p->count; d++) {
    int64_t shape[2], offset[2];
    if (vf_port_part(program, VF_INPUT, 0, d, NULL, shape, offset, NULL, error) != VF_OK) return 0;
    for (int i = 0; i < 2; i++)
      if (!(p->part[i][d] = calloc((size_t)(shape[0] * shape[1]) + 1, sizeof(float)))) return 0;
    for (int64_t r = 0; r < shape[0]; r++)
      for (int64_t c = 0; c < shape[1]; c++)
        if (abs((int)(offset[0] + r) - ROWS / 2) < 20 && abs((int)c - COLUMNS / 2) < 20)
          p->part[0][d][r * shape[1] + c] = 100;
  }
  return 1;
}

static int spread(const vf_program *program, plates *p, vf_error *error) {
  for (int i = 0; i < STEPS; i++) {
    const void *in[MOST_DEVICES] = {NULL};
    void *out[2 * MOST_DEVICES] = {NULL};
    for (int64_t d = p->first; d < p->first + p->count; d++) {
      in[d] = p->part[i % 2][d];
      out[2 * d] = p->part[(i + 1) % 2][d];
      out[2 * d + 1] = &p->greatest[d];
    }
    if (vf_program_run_parts(program, in, out, NULL, error) != VF_OK) return 0;
  }
  return 1;
}

/* mpirun says in the environment how many processes it has started: Open MPI so, others otherwise. */
static int is_launched(void) {
  const char *open_mpi = getenv("OMPI_COMM_WORLD_SIZE"), *others = getenv("PMI_SIZE");
  return open_mpi || others;
}

int main(int count, char **argument) {
  static plates p;
  int devices = count > 1 ? atoi(argument[1]) : 4;
  vf_error error = {VF_OK, ""};
  vf_context *context = vf_context_create(NULL, &error);
  vf_program *program = NULL;
  if (devices < 1 || devices > MOST_DEVICES) return fprintf(stderr, "1 to %d devices\n", MOST_DEVICES), 1;
  if (context && (!is_launched() || vf_processes_join(context, 0, &error) == VF_OK)) {
    int64_t each = devices / vf_process_count(context);
    if (devices % vf_process_count(context)) return fprintf(stderr, "each process has as many devices\n"), 1;
    p.first = vf_process_number(context) * each;
    p.count = each;
    program = compile_step(context, devices, &error);
  }
  int good = program && fill(program, &p, &error) && spread(program, &p, &error);
  int64_t number = vf_process_number(context);
  for (int i = 0; i < 2 * MOST_DEVICES; i++) free(p.part[i / MOST_DEVICES][i % MOST_DEVICES]);
  vf_program_destroy(program), vf_context_destroy(context);
  if (!good) return fprintf(stderr, "%s\n", error.message), 1;
  if (number == 0)
    printf("%d devices: after %d steps the plate has %.9g at most\n", devices, STEPS, p.greatest[0]);
  return 0;
}
