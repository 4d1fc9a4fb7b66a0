"""Operations that change which axes are batch axes, and those that also work on batch axes: all exact."""
import numpy as np

from oracle.draw import Case, Operand, Want


def batched(d, least=0, least_rank=0, low=0):
    """An operand whose first axes are batch axes, and how many; a holds all of its axes."""
    shape = d.shape(least=least + least_rank, low=low)
    count = d.integer(least, len(shape) - least_rank)
    x = d.operand(d.any_dtype(), shape)
    return Operand(d.graph.apply("rebatch", x.value, batch_dims=count), x.typed), count


def moved(x, array, batch_dims):
    return Want(x.dtype, np.asarray(array), batch_dims=batch_dims)


def rebatch(d):
    x, _ = batched(d)
    count = d.integer(0, len(x.shape))
    return Case([x], moved(x, x.a, count), batch_dims=count)


def one_more(d):
    x, count = batched(d, least_rank=1)
    return Case([x], moved(x, x.a, count + 1))


def one_less(d):
    x, count = batched(d, least=1)
    return Case([x], moved(x, x.a, count - 1))


def batch(d):
    """An axis becomes the first of the given number of batch axes; batch axes in between have size 1."""
    x, count = batched(d, least_rank=1)
    axis, written = d.axis(len(x.shape) - count)
    level = count + 1 + d.integer(0, 2)
    y = np.moveaxis(x.a, count + axis, 0)
    y = y.reshape(y.shape[:1] + (1,) * (level - count - 1) + y.shape[1:])
    return Case([x], moved(x, y, level), axis=written, level=level)


def unbatch(d):
    """The batch axis of a level becomes an axis; a value without one is repeated."""
    x, count = batched(d, low=1)
    axis, written = d.axis(len(x.shape) - count, 1)
    if count and d.chance(0.7):
        level, size = count, x.shape[0]
        y = np.moveaxis(x.a, 0, count - 1 + axis)
        count -= 1
    else:
        level, size = count + 1 + d.integer(0, 1), d.integer(1, 4)
        y = np.repeat(np.expand_dims(x.a, count + axis), size, count + axis)
    while count and y.shape[0] == 1:  # leading batch axes of size 1 mean nothing
        y, count = y[0], count - 1
    return Case([x], moved(x, y, count), size=size, axis=written, level=level)


def to_batch(d):
    x, count = batched(d, least_rank=1)
    axis, written = d.axis(len(x.shape) - count)
    return Case([x], moved(x, np.moveaxis(x.a, count + axis, 0), count + 1), axis=written)


def from_batch(d):
    x, count = batched(d, least=1)
    (source, batch_axis), (to, written) = d.axis(count), d.axis(len(x.shape) - count, 1)
    y = np.moveaxis(x.a, source, count - 1 + to)
    return Case([x], moved(x, y, count - 1), batch_axis=batch_axis, logical_destination=written)


def repeated(d):
    """The whole batch; the operand's batch axes align with its end."""
    x, count = batched(d)
    shape = tuple(1 if k < count and d.chance(0.3) else s for k, s in enumerate(x.shape))
    x = d.operand(x.dtype, shape)
    x = Operand(d.graph.apply("rebatch", x.value, batch_dims=count), x.typed)
    whole = [d.integer(1, 3) for _ in range(d.integer(0, 2))]
    whole += [d.integer(1, 3) if s == 1 else s for s in shape[:count]]
    y = np.broadcast_to(x.a, tuple(whole) + shape[count:])
    return Case([x], moved(x, y, len(whole)), batch_shape=whole)


def unsqueeze(d):
    x, count = batched(d)
    axis, written = d.axis(len(x.shape), 1)
    return Case([x], moved(x, np.expand_dims(x.a, axis), count), axis=written)


def squeeze(d):
    shape = d.shape(least=1)
    count, axis = d.integer(0, len(shape) - 1), d.integer(0, len(shape) - 1)
    x = d.operand(d.any_dtype(), tuple(1 if k == axis else s for k, s in enumerate(shape)))
    x = Operand(d.graph.apply("rebatch", x.value, batch_dims=count), x.typed)
    return Case([x], moved(x, np.squeeze(x.a, axis), count), axis=d.one([axis, axis - len(shape)]))


def moveaxis(d):
    x, count = batched(d, least_rank=1)
    (a, source), (b, destination) = d.axis(len(x.shape)), d.axis(len(x.shape))
    return Case([x], moved(x, np.moveaxis(x.a, a, b), count), source=source, destination=destination)


def broadcast(d):
    """New axes come after the batch."""
    x, count = batched(d)
    shape = tuple(1 if d.chance(0.3) else s for s in x.shape)
    x = d.operand(x.dtype, shape)
    x = Operand(d.graph.apply("rebatch", x.value, batch_dims=count), x.typed)
    more = d.integer(0, 2)
    y = x.a.reshape(shape[:count] + (1,) * more + shape[count:])
    whole = [d.integer(1, 3) if s == 1 else s for s in y.shape]
    return Case([x], moved(x, np.broadcast_to(y, whole), count), shape=whole)


ROWS = {
    "rebatch": rebatch, "incr_batch_dims": one_more, "decr_batch_dims": one_less, "batch": batch,
    "unbatch": unbatch, "move_axis_to_batch_dims": to_batch, "move_axis_from_batch_dims": from_batch,
    "broadcast_batch_dims": repeated, "unsqueeze_physical": unsqueeze, "squeeze_physical": squeeze,
    "moveaxis_physical": moveaxis, "broadcast_to_physical": broadcast,
}
