"""Recurrent networks: single steps, and stacks of layers over sequences.

The gates of a step are rows of its weights: input, forget, cell, output for an LSTM; reset, update, new for a GRU.
Steps take transposed weights: a sequence transposes them once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..common.initializer import Uniform, initializer
from ..dtypes import dtype_of, float32
from ..ir.primitive import call
from ..ops.state import compiled_from_source
from ..primitives.requirements import require
from ..runtime.parameter import Parameter, ParameterTuple
from .arguments import choice, flag, positive, probability
from .cell import Cell


# ------------------------------------------------------------------------------------------------ one step
@compiled_from_source
def _transposed(weight: Any) -> Any:
    return ops.swapaxes(weight, 0, 1)


@compiled_from_source
def _summed(x: Any, transposed: Any, bias: Any) -> Any:
    y = ops.matmul(x, transposed)
    return y if bias is None else y + bias


@compiled_from_source
def _elman(given: Any, state: Any, transposed: Any, bias: Any, tanh: bool) -> Any:
    gates = given + _summed(state, transposed, bias)
    return ops.tanh(gates) if tanh else ops.relu(gates)


@compiled_from_source
def _gru(given: Any, state: Any, transposed: Any, bias: Any) -> Any:
    r, z, n = ops.chunk(given, 3, 1)
    kept_r, kept_z, kept_n = ops.chunk(_summed(state, transposed, bias), 3, 1)
    new = ops.tanh(n + ops.sigmoid(r + kept_r) * kept_n)
    update = ops.sigmoid(z + kept_z)
    return new + update * (state - new)


@compiled_from_source
def _lstm(given: Any, state: tuple[Any, Any], transposed: Any, bias: Any) -> tuple[Any, Any]:
    hidden, cell = state
    i, f, g, o = ops.chunk(given + _summed(hidden, transposed, bias), 4, 1)
    cell = ops.sigmoid(f) * cell + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(cell), cell


# These run while compiling, where the errors that they raise learn where the sizes are from.
def _check_rows(cell: Cell, what: str, shape: tuple[Any, ...], size: int) -> None:
    if len(shape) != 2 or shape[1] != size:
        message = f"{type(cell).__name__}: {what} must be [batch, {size}], not {list(shape)}"
        require(False, message, between=(shape[1:], (size,)))


def _refuse_batches(cell: Cell, given: Any, of_state: Any) -> None:
    message = f"{type(cell).__name__}: batches of {given} and {of_state} do not fit"
    require(False, message, between=(given, of_state))


def _check_state(cell: Cell, name: str, shape: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    if tuple(shape) != wanted:
        message = f"{type(cell).__name__}: {name} must be {list(wanted)}, not {list(shape)}"
        require(False, message, between=(tuple(shape), wanted))


def _check_steps(cell: Any, shape: tuple[Any, ...]) -> None:
    if len(shape) != 3 or shape[2] != cell.input_size:
        wanted = "[batch, length, " if cell.batch_first else "[length, batch, "
        message = f"{type(cell).__name__}: x must be {wanted}{cell.input_size}], not {list(shape)}"
        require(False, message, between=(shape[2:], (cell.input_size,)))


class _Step(Cell):
    """The weights of one step; all start evenly spread over +-1/sqrt(hidden_size)."""

    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any
    _gates = 1

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = float32) -> None:
        super().__init__()
        self.input_size, self.hidden_size = positive("input_size", input_size), positive("hidden_size", hidden_size)
        self.has_bias = flag("has_bias", has_bias)
        rows, spread = self._gates * hidden_size, Uniform(1 / math.sqrt(hidden_size))
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        if has_bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        else:
            self.bias_ih = self.bias_hh = None
        for name, shape in shapes.items():
            setattr(self, name, Parameter(initializer(spread, shape, dtype_of(dtype)), name=name))

    def _check(self, x: Any, state: Any) -> None:
        _check_rows(self, "x", x.shape, self.input_size)
        _check_rows(self, "the state", state.shape, self.hidden_size)
        if x.shape[0] != state.shape[0]:
            _refuse_batches(self, x.shape[0], state.shape[0])


class RNNCell(_Step):
    """``tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh)``, or relu, of x [batch, input_size] and the state h.

    ValueError: a `nonlinearity` that is neither "tanh" nor "relu".

    >>> from autodiff_compiler import ops
    >>> RNNCell(3, 4)(ops.ones((2, 3)), ops.zeros((2, 4))).shape
    (2, 4)
    """

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, nonlinearity: str = "tanh", dtype: Any = float32
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self.nonlinearity = choice("nonlinearity", nonlinearity, ("tanh", "relu"))

    def construct(self, x: Any, hx: Any) -> Any:
        self._check(x, hx)
        given = _summed(x, _transposed(self.weight_ih), self.bias_ih)
        return _elman(given, hx, _transposed(self.weight_hh), self.bias_hh, self.nonlinearity == "tanh")


class GRUCell(_Step):
    """One step of a GRU on x [batch, input_size] and the state h [batch, hidden_size]: the new state.

    >>> from autodiff_compiler import ops
    >>> GRUCell(3, 4)(ops.ones((2, 3)), ops.zeros((2, 4))).shape
    (2, 4)
    """

    _gates = 3

    def construct(self, x: Any, hx: Any) -> Any:
        self._check(x, hx)
        return _gru(
            _summed(x, _transposed(self.weight_ih), self.bias_ih), hx, _transposed(self.weight_hh), self.bias_hh
        )


class LSTMCell(_Step):
    """One step of an LSTM on x [batch, input_size] and the states (h, c): the new (h, c).

    >>> from autodiff_compiler import ops
    >>> h, c = LSTMCell(3, 4)(ops.ones((2, 3)), (ops.zeros((2, 4)), ops.zeros((2, 4))))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    _gates = 4

    def construct(self, x: Any, hx: Any) -> Any:
        if not isinstance(hx, tuple | list) or len(hx) != 2:
            raise TypeError("LSTMCell takes the states (h, c)")
        self._check(x, hx[0])
        self._check(x, hx[1])
        given = _summed(x, _transposed(self.weight_ih), self.bias_ih)
        return _lstm(given, (hx[0], hx[1]), _transposed(self.weight_hh), self.bias_hh)


# ------------------------------------------------------------------------------------------------ sequences
def _row_major_transposed(weight: Any) -> Any:
    """A transposed weight for many steps; in eager code a row-major copy of it.

    BLAS would copy a small column-major matrix at every product.
    """
    transposed = _transposed(weight)
    if isinstance(transposed._data, np.ndarray):  # a new Tensor, so nothing else can refer to its bytes
        transposed._data = np.ascontiguousarray(transposed._data)
    return transposed


_row_major_transposed.__graph_call__ = lambda ctx, args, kwargs: ctx.call_python(_transposed, args, kwargs)  # type: ignore[attr-defined]


def _steps(cell: Any, given: Any, state: Any, transposed: Any, bias: Any, seq_length: Any) -> tuple[Any, Any]:
    """The outputs of all steps, and the last state."""
    if given.shape[0] == 0:
        return ops.zeros((0, *cell._output(state).shape), given.dtype), state
    outs = []
    for t in range(given.shape[0]):
        out, state = cell._advance(t, given[t], state, transposed, bias, seq_length)
        outs.append(out)
    return ops.stack(outs), state


def _scanned_steps(cell: Any, given: Any, state: Any, transposed: Any, bias: Any, seq_length: Any) -> tuple[Any, Any]:
    """`_steps` for a `scan`: its loop appends to no list, and iterates over rows instead of indexing."""
    outs = ops.zeros((given.shape[0], *cell._output(state).shape), given.dtype)
    for t, row in enumerate(given):
        out, state = cell._advance(t, row, state, transposed, bias, seq_length)
        outs[t] = out
    return outs, state


def _compiled_steps(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    length = args[1].type.shape[0]
    short = isinstance(length, int) and length <= ctx.options.unroll_limit
    return ctx.call_python(_steps if short else _scanned_steps, args, kwargs)


_steps.__graph_call__ = _compiled_steps  # type: ignore[attr-defined]


class _Stack(Cell):
    """Layers of steps over sequences [length, batch, input_size], or [batch, length, input_size] with `batch_first`."""

    _gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size = positive("input_size", input_size), positive("hidden_size", hidden_size)
        self.num_layers, self.has_bias = positive("num_layers", num_layers), flag("has_bias", has_bias)
        self.batch_first, self.bidirectional = flag("batch_first", batch_first), flag("bidirectional", bidirectional)
        self.dropout = probability("dropout", dropout)
        directions, rows = 2 if bidirectional else 1, self._gates * hidden_size
        spread = Uniform(1 / math.sqrt(hidden_size))
        made: dict[str, list[Parameter]] = {"weight_ih": [], "weight_hh": [], "bias_ih": [], "bias_hh": []}
        for layer in range(num_layers):
            columns = input_size if layer == 0 else hidden_size * directions
            for direction in range(directions):
                end = f"_l{layer}" + "_reverse" * direction
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, hidden_size)}
                if has_bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                for name, shape in shapes.items():
                    made[name].append(Parameter(initializer(spread, shape, dtype_of(dtype)), name=name + end))
        self.w_ih_list, self.w_hh_list = ParameterTuple(made["weight_ih"]), ParameterTuple(made["weight_hh"])
        self.b_ih_list, self.b_hh_list = ParameterTuple(made["bias_ih"]), ParameterTuple(made["bias_hh"])

    # -------------------------------------------------------------------------------------------- states
    def _step(self, given: Any, state: Any, transposed: Any, bias: Any) -> Any:
        raise NotImplementedError

    def _first_states(self, hx: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return self._state("hx", ops.zeros(shape, dtype) if hx is None else hx, shape)

    def _state(self, name: str, state: Any, shape: tuple[int, ...]) -> Any:
        _check_state(self, name, state.shape, shape)
        return state

    def _at(self, states: Any, k: int) -> Any:
        return states[k]

    def _stacked(self, states: list[Any]) -> Any:
        return ops.stack(states)

    def _output(self, state: Any) -> Any:
        return state

    def _chosen(self, going: Any, new: Any, old: Any) -> Any:
        return ops.where(going, new, old)

    def _advance(self, t: Any, given: Any, state: Any, transposed: Any, bias: Any, seq_length: Any) -> tuple[Any, Any]:
        """Step t: its output and its state."""
        new = self._step(given, state, transposed, bias)
        if seq_length is None:
            return self._output(new), new
        going = ops.expand_dims(seq_length > t, 1)
        return call.where(going, self._output(new), 0), self._chosen(going, new, state)

    # -------------------------------------------------------------------------------------------- running
    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> Any:
        _check_steps(self, x.shape)
        if self.batch_first:
            x = ops.swapaxes(x, 0, 1)
        directions = 2 if self.bidirectional else 1
        shape = (self.num_layers * directions, x.shape[1], self.hidden_size)
        states, ends = self._first_states(hx, shape, x.dtype), []
        for layer in range(self.num_layers):
            outs = []
            for direction in range(directions):
                k = layer * directions + direction
                out, end = self._run(x, self._at(states, k), k, direction == 1, seq_length)
                outs.append(out)
                ends.append(end)
            x = ops.cat(outs, 2) if self.bidirectional else outs[0]
            if self.training and self.dropout > 0 and layer < self.num_layers - 1:
                x = ops.dropout(x, self.dropout)
        return ops.swapaxes(x, 0, 1) if self.batch_first else x, self._stacked(ends)

    def _run(self, x: Any, state: Any, k: int, reverse: bool, seq_length: Any) -> tuple[Any, Any]:
        """One layer in one direction; the steps beyond a sequence's length keep its state and give zeros."""
        transposed, bias, bias_ih = _row_major_transposed(self.w_hh_list[k]), None, None
        if self.has_bias:
            bias, bias_ih = self.b_hh_list[k], self.b_ih_list[k]
        if reverse:
            x = ops.flip(x, (0,)) if seq_length is None else ops.reverse_sequence(x, seq_length, 0, 1)
        given = _summed(x, _transposed(self.w_ih_list[k]), bias_ih)
        out, state = _steps(self, given, state, transposed, bias, seq_length)
        if reverse:
            out = ops.flip(out, (0,)) if seq_length is None else ops.reverse_sequence(out, seq_length, 0, 1)
        return out, state

    def extend_repr(self) -> str:
        return (
            f"input_size={self.input_size}, hidden_size={self.hidden_size}, num_layers={self.num_layers}, "
            f"has_bias={self.has_bias}, batch_first={self.batch_first}, dropout={self.dropout}, "
            f"bidirectional={self.bidirectional}"
        )


class RNN(_Stack):
    """Layers of `RNNCell` steps: the outputs of the last layer at all steps, and the last states of all layers.

    The states are [num_layers * directions, batch, hidden_size]; without `hx` they start with zeros.  `seq_length`
    [batch] ends sequences earlier: then outputs are zeros.  With `bidirectional` every layer also runs from the end,
    and its outputs follow the others in the last dimension.  In training `dropout` acts between layers.

    >>> from autodiff_compiler import ops
    >>> out, state = RNN(3, 4, num_layers=2)(ops.ones((5, 2, 3)))
    >>> out.shape, state.shape
    ((5, 2, 4), (2, 2, 4))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        nonlinearity = kwargs.pop("nonlinearity", "tanh")
        super().__init__(*args, **kwargs)
        self.nonlinearity = choice("nonlinearity", nonlinearity, ("tanh", "relu"))

    def _step(self, given: Any, state: Any, transposed: Any, bias: Any) -> Any:
        return _elman(given, state, transposed, bias, self.nonlinearity == "tanh")


class GRU(_Stack):
    """Layers of `GRUCell` steps; arguments and results as those of `RNN`.

    >>> from autodiff_compiler import ops
    >>> out, state = GRU(3, 4, batch_first=True, bidirectional=True)(ops.ones((2, 5, 3)))
    >>> out.shape, state.shape
    ((2, 5, 8), (2, 2, 4))
    """

    _gates = 3

    def _step(self, given: Any, state: Any, transposed: Any, bias: Any) -> Any:
        return _gru(given, state, transposed, bias)


class LSTM(_Stack):
    """Layers of `LSTMCell` steps; arguments and results as those of `RNN`, but the states are pairs (h, c).

    >>> from autodiff_compiler import ops
    >>> out, (h, c) = LSTM(3, 4)(ops.ones((5, 2, 3)))
    >>> out.shape, h.shape, c.shape
    ((5, 2, 4), (1, 2, 4), (1, 2, 4))
    """

    _gates = 4

    def _step(self, given: Any, state: Any, transposed: Any, bias: Any) -> Any:
        return _lstm(given, state, transposed, bias)

    def _first_states(self, hx: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        if hx is None:
            return ops.zeros(shape, dtype), ops.zeros(shape, dtype)
        if not isinstance(hx, tuple | list) or len(hx) != 2:
            raise TypeError("LSTM takes the states (h, c)")
        return self._state("h", hx[0], shape), self._state("c", hx[1], shape)

    def _at(self, states: Any, k: int) -> Any:
        return states[0][k], states[1][k]

    def _stacked(self, states: list[Any]) -> Any:
        return ops.stack([h for h, _ in states]), ops.stack([c for _, c in states])

    def _output(self, state: Any) -> Any:
        return state[0]

    def _chosen(self, going: Any, new: Any, old: Any) -> Any:
        return ops.where(going, new[0], old[0]), ops.where(going, new[1], old[1])
