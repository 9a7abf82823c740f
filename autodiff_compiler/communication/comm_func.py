"""MindSpore's `communication.comm_func`: collectives as functions; see `ops.communication`."""

from __future__ import annotations

from ..ops.communication import (
    CommHandle,
    P2POp,
    all_gather_into_tensor,
    all_reduce,
    all_to_all_single_with_output_shape,
    all_to_all_with_output_shape,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather_into_tensor,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter_tensor,
    scatter_tensor,
    send,
)

__all__ = [
    "CommHandle",
    "P2POp",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all_single_with_output_shape",
    "all_to_all_with_output_shape",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "gather_into_tensor",
    "irecv",
    "isend",
    "recv",
    "reduce",
    "reduce_scatter_tensor",
    "scatter_tensor",
    "send",
]
