"""Faults that a program can catch: what the processes are told. Each has a group of its own, which it may break."""

from __future__ import annotations

import itertools
import os
import time

import numpy as np

from autodiff_compiler import communication
from autodiff_compiler.collectives import Group, agree, create_group, group
from autodiff_compiler.collectives import transfer as T
from autodiff_compiler.errors import CollectiveError, CollectiveTimeoutError

X = np.ones(3, "f4")
_names = itertools.count()


def world() -> Group:
    communication.init()
    return group("hccl_world_group")


def fresh() -> Group:
    return create_group(f"fault{next(_names)}", range(world().size))


def told(call, *arguments, words=(), kind=CollectiveError, code="AC3002", **options):
    """The error of a call: its class, its code, and words that it has."""
    try:
        call(*arguments, **options)
    except kind as error:
        text = str(error)
        found = error.code
    else:
        raise AssertionError("nothing was told")
    assert found == code, text
    missing = [word for word in words if word not in text]
    assert not missing, f"{missing} not in\n{text}"
    return text


def check_shapes_differ() -> None:
    g = fresh()
    words = ["process 0 calls all_reduce(sum) of float32[3]", "process 1 calls all_reduce(sum) of float32[4]"]
    told(T.all_reduce, np.ones(3 + g.rank % 2, "f4"), "sum", g, words=[*words, "at faults.py:"])
    T.barrier(g)  # nothing was sent: the group can be used


def check_dtypes_differ() -> None:
    g = fresh()
    told(T.all_reduce, X.astype("f8") if g.rank == 1 else X, "sum", g, words=["float32[3]", "float64[3]"])


def check_operations_differ() -> None:
    g = fresh()
    told(T.all_reduce, X, "max" if g.rank == 1 else "sum", g, words=["all_reduce(max)", "all_reduce(sum)"])


def check_collectives_differ() -> None:
    g = fresh()
    call, rest = (T.all_gather, ()) if g.rank == 1 else (T.all_reduce, ("sum",))
    told(call, X, *rest, g, words=["process 0 calls all_reduce(sum)", "process 1 calls all_gather"])


def check_roots_differ() -> None:
    g = fresh()
    told(T.broadcast, X, g.rank % 2, g, words=["from 0", "from 1"])


def check_order_differs() -> None:
    g = fresh()
    calls = [(T.all_reduce, (X, "sum", g)), (T.all_reduce, (np.ones(5), "sum", g))]
    for call, arguments in calls if g.rank else calls[::-1]:
        told(call, *arguments, words=["float32[3]", "float64[5]"])


def check_lines_are_named_as_given() -> None:
    g = fresh()
    told(T.all_reduce, X[g.rank % 2 :], "sum", g, at="train.py:12", words=["process 0", "process 1", "at train.py:12"])


def check_what_is_started_differs() -> None:
    g = fresh()
    handle = T.start_all_reduce(np.ones(3 + g.rank % 2, "f4"), "sum", g)
    told(handle.wait, words=["float32[3]", "float32[4]"])
    told(T.barrier, g, code="AC3005", words=["cannot be used after this"])


def check_messages_differ() -> None:
    w = fresh()
    if w.rank == 0:
        T.send(X, 1, 7, w)
    elif w.rank == 1:
        words = ["receive of float32[4] from 0", "process 0 calls send of float32[3] to 1 (tag 7)", "faults.py:"]
        told(T.receive, (4,), "float32", 0, 7, w, words=words)


def check_counts_differ() -> None:
    g = fresh()
    counts = [1] * g.size
    given = [2, *counts[1:]] if g.rank == 1 else counts
    told(T.all_to_all_v, np.ones(sum(given)), given, counts, g, words=["process 1 sends 2 rows to 0, which expects 1"])


def check_groups_differ() -> None:
    w = world()
    if w.rank < 2:
        ranks = [0, 1] if w.rank else [1, 0]
        told(create_group, "conflict", ranks, words=["create_group('conflict', [0, 1])", "[1, 0]"])


def check_texts_differ() -> None:
    g = fresh()
    agree("programs", "one\ntwo\n", g)
    text = "one\ntwo\n" if g.rank != 1 else "one\nthree\n"
    words = ["the programs of the processes differ", "process 1", "line 2", "process 0: two", "process 1: three"]
    said = told(agree, "programs", text, g, code="AC3004", words=words)
    assert said.count("process 1") >= 2
    longer = "one\n" + ("more\n" if g.rank == 1 else "")
    told(agree, "shapes", longer, g, code="AC3004", words=["process 0: has no such line", "process 1: more"])
    agree("programs", "after that", g)


def check_a_process_that_comes_late_is_named() -> None:
    g = fresh()
    T.barrier(g)
    if g.rank == 1:
        time.sleep(2.5)
        told(T.barrier, g, words=["cannot be used"], code="AC3005") if g.broken else None
        return
    handle = T.start_all_reduce(X, "sum", g)
    words = ["has waited 2 s for process 1", "process 1 has not come", "barrier in", "it runs faults.py:", "AC_TIMEOUT"]
    told(handle.wait, 1.5, kind=CollectiveTimeoutError, code="AC3001", words=words)
    told(T.barrier, g, code="AC3005", words=["cannot be used after this"])


def check_a_timeout_is_a_timeout_error() -> None:
    assert issubclass(CollectiveTimeoutError, TimeoutError)


def check_who_is_not_in_a_group() -> None:
    w = world()
    g = create_group("first", [0])
    if w.rank:
        told(T.barrier, g, code="AC3005", words=["not in the group 'first'", "process 0"])
        told(communication.get_rank, "first", code="AC3005", words=["not in the group"])
    else:
        assert T.all_reduce(X, "sum", g).tolist() == X.tolist()


def check_what_cannot_be_is_told_before_anything_is_sent() -> None:
    w = world()
    for call, arguments, words in (
        (T.all_reduce, (X, "mean", w), "sum, prod, max and min"),
        (T.reduce_scatter, (np.ones(w.size + 1), "sum", w), "equal parts"),
        (T.all_gather, (np.float32(1), w), "axis 0"),
        (T.broadcast, (X, w.size, w), "no process"),
        (T.send, (X, 0, 40000, w), "tag"),
        (T.all_to_all_v, (X, [1], [1], w), "send_counts"),
        (T.all_to_all_v, (X, [1] * w.size, [1] * w.size, w), "add up"),
        (create_group, ("x", [0, w.size]), "cannot have"),
        (create_group, ("x", [0, 0]), "each once"),
        (T.barrier, ("nothing",), "no group 'nothing'"),
    ):
        if call is T.all_to_all_v and "add" in words and w.size == 3:
            continue
        try:
            call(*arguments)
        except ValueError as error:
            assert words in str(error), error  # noqa: PT017  (a check has no pytest)
        else:
            raise AssertionError(words)
    try:
        T.all_reduce(np.ones(2, "c8"), "sum", w)
    except TypeError:
        pass
    else:
        raise AssertionError("complex")
    out = np.empty(2, "f4")
    try:
        T.all_reduce(X, "sum", w, out=out)
    except ValueError as error:
        assert "`out`" in str(error)  # noqa: PT017
    else:
        raise AssertionError("out")


def check_a_child_by_fork_has_no_part() -> None:
    w = world()
    child = os.fork()
    if not child:
        try:
            told(T.barrier, w, code="AC3005", words=["a fork"])
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert T.all_reduce(X, "sum", w).tolist() == [w.size] * 3
