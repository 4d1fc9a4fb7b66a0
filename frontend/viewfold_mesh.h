/* Meshes of devices, and values that are divided among them; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_MESH_H
#define VIEWFOLD_MESH_H

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- meshes */
/* A grid of devices with named axes. Devices are counted row-major. docs/sharding.md describes meshes, and
 * specs, which say how a value is divided among the devices. */
typedef struct vf_mesh vf_mesh;

/* text: the axes, as in "x=2,y=4", or with what is known of the devices, as behind `mesh @m` in text graphs:
 * "[x=2,y=4] devices=[\"cpu\",...] latency=[1e-6,1e-6] bandwidth=[1e10,1e9] memory=8e9". NULL after an error:
 * of the text, or out of memory. */
VF_API vf_mesh *vf_mesh_create(vf_context *context, const char *text, vf_error *error);
VF_API void vf_mesh_destroy(vf_mesh *mesh); /* may be NULL; graphs that have the mesh keep it */
VF_API int64_t vf_mesh_device_count(const vf_mesh *mesh);
VF_API int vf_mesh_axis_count(const vf_mesh *mesh);
/* The name of axis 0, 1, ..., the major one first; NULL beyond the last. Valid as long as the mesh. */
VF_API const char *vf_mesh_axis_name(const vf_mesh *mesh, int axis);
VF_API int64_t vf_mesh_axis_size(const vf_mesh *mesh, const char *axis); /* -1: no axis has that name */
/* Where a device is along an axis, from 0; -1: no axis has that name, or there is no such device. */
VF_API int64_t vf_mesh_coordinate(const vf_mesh *mesh, int64_t device, const char *axis);
/* The part of an array that a device has: begin[k] <= i[k] < end[k], `rank` numbers each. spec is such as
 * "[x,-]". Refuses a spec of another rank, negative sizes, and a device that the mesh does not have. */
VF_API vf_status vf_mesh_part(const vf_mesh *mesh, const char *spec, int rank, const int64_t *shape,
                              int64_t device, int64_t *begin, int64_t *end, vf_error *error);

/* The mesh of a graph, which is copied, in place of the one that it has. Refused where specs of values are
 * given already. */
VF_API vf_status vf_graph_set_mesh(vf_graph *graph, const vf_mesh *mesh, vf_error *error);
/* An input as vf_input makes it, divided among the devices of the graph's mesh. spec: "[x,-]", one entry for
 * each axis. Refused without a mesh. */
VF_API vf_value vf_input_sharded(vf_graph *graph, const char *name, vf_dtype dtype, int rank,
                                 const int64_t *shape, const char *spec);
/* x, divided as the spec says: a constraint, which changes no value. A pending sum "[x,-]+y" in x is carried
 * out where the spec has none. Refused without a mesh. */
VF_API vf_value vf_shard(vf_value x, const char *spec);

#ifdef __cplusplus
}
#endif
#endif
