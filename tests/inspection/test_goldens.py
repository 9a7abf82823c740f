"""The dumps of ten programs, line by line; and what they compute, against NumPy and finite differences.

`goldens/NAME/program.py` is the program, `STAGE.ir` the dump of a stage; `--update-golden` writes it anew.
"""

import importlib.util
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.ir.text import parse_module, print_module
from tests.programs.compare import define

GOLDENS = Path(__file__).parent / "goldens"
NAMES = sorted(path.parent.name for path in GOLDENS.glob("*/program.py"))
STAGES = ("front", "adjoint", "opt", "plan")
CASES = [(name, stage) for name in NAMES for stage in STAGES]


@pytest.fixture(scope="module")
def programs():
    found = {}
    for name in NAMES:
        spec = importlib.util.spec_from_file_location(f"golden_{name}", GOLDENS / name / "program.py")
        found[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    return found


@pytest.fixture(scope="module")
def artifacts(programs):
    """Every program, compiled as the context is by default: a backend that was asked for would show in the header."""
    before = {name: ms.get_context(name) for name in ("backend", "optimize", "check_nonfinite")}
    ms.set_context(backend="auto", optimize=2)
    try:
        ms.set_seed(0)
        yield {name: program.lowered() for name, program in programs.items()}
    finally:
        ms.set_context(**before)


# ------------------------------------------------------------------------------------------- the text
@pytest.mark.parametrize(("name", "stage"), CASES)
def test_the_dump_is_the_one_that_was_read(name, stage, artifacts, update_golden):
    text, path = str(artifacts[name].ir(stage)), GOLDENS / name / f"{stage}.ir"
    if update_golden:
        path.write_text(text, "ascii")
    command = f"pytest tests/inspection/test_goldens.py -k {name} --update-golden"
    assert text == path.read_text("ascii"), f"if the new text is right: `{command}`"


@pytest.mark.parametrize(("name", "stage"), CASES)
def test_the_text_parses_and_prints_as_it_is_but_for_comments(name, stage):
    text = (GOLDENS / name / f"{stage}.ir").read_text("ascii")
    bare = print_module(parse_module(text))
    assert print_module(parse_module(bare)) == bare
    without = [re.sub(r"\s+//.*", "", line) for line in text.splitlines() if not line.startswith("//")]
    assert "\n".join(without).strip() == bare.strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_value_keeps_its_name_at_all_stages(name):
    """A name that two stages have belongs to operations of one line of the user's and of one type."""
    stages = [_definitions((GOLDENS / name / f"{stage}.ir").read_text("ascii")) for stage in STAGES]
    for earlier, later in itertools.pairwise(stages):
        common = earlier.keys() & later.keys()
        assert common
        for value in common:
            assert earlier[value] == later[value], value


def _definitions(text):
    """The type and the user's line of every value that an operation of its own line defines."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*(%\w+): (\S+) = .* @ (\w+\.py:\d+):\d+", line)
        if match is not None:
            found[match[1]] = match[2], match[3]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_adjoint_of_a_value_has_its_name_and_its_type(name):
    values = {}
    text = (GOLDENS / name / "adjoint.ir").read_text("ascii")
    for value, type_ in re.findall(r"(%\w+): ((?:seq<)?\w+\[[^\]]*\])", text):
        values[value] = type_
    adjoints = [value for value in values if re.fullmatch(r"%d\d*_\w+", value) and "_part" not in value]
    for value in adjoints:
        of = "%" + re.sub(r"^%d\d*_|_so_far$", "", value)
        assert values.get(of, values[value]) == values[value], f"{value} and {of}"
    assert adjoints or name == "effects"


# ------------------------------------------------------------------------------------------- what they compute
def differences(f, arrays, step=1e-6):
    """The gradients of a scalar function of float64 arrays by central differences."""
    arrays = [np.asarray(a, np.float64) for a in arrays]
    grads = []
    for i, a in enumerate(arrays):
        g = np.zeros_like(a)
        for at in np.ndindex(a.shape):
            ends = []
            for sign in (1, -1):
                moved = [x.copy() for x in arrays]
                moved[i][at] += sign * step
                ends.append(f(*moved))
            g[at] = (ends[0] - ends[1]) / (2 * step)
        grads.append(g)
    return grads


def straight_line(x, w):
    def loss(x, w):
        h = x * w
        return ((np.sin(h) + h) * w).sum()

    return [loss(x, w), *differences(loss, (x, w))]


def branch(x):
    def f(x):
        y = np.exp(x) * x if x.sum() > 1.0 else np.sqrt(x + 3.0)
        return (y * y).sum()

    return differences(f, (x,))


def unrolled(x):
    def f(x):
        s = x
        for factor in (0.5, 1.5, 2.0):
            s = np.sin(s * factor) + x
        return s.sum()

    return differences(f, (x,))


def while_kept(x, w):
    def f(x, w):
        h = x
        while h.sum() < 10.0:
            h = h * w + np.sqrt(h)
        return h.sum()

    return differences(f, (x, w))


def scan_kept(x, w):
    def f(x, w):
        h = x
        for _ in range(20):
            u = np.tanh(h * w)
            h = h + 0.1 * u * u
        return h.sum()

    return differences(f, (x, w))


def own_bprop(x):
    # sum(sin(h) * x) with h = x * x: the bprop doubles what arrives at h, the hook halves it, so nothing changes there
    return differences(lambda x: (np.sin(x * x) * x).sum(), (x,))


def second_order(x):
    # the gradient of the sum of the gradient: f'' of each element, as the elements do not meet
    h, dh, ddh = np.sin(x) * x, np.cos(x) * x + np.sin(x), 2 * np.cos(x) - np.sin(x) * x
    return [2 * (dh * dh + h * ddh)]


ARRAYS = {  # other arrays than those it was compiled for; those of `branch` and `while_kept` go other ways, too
    "straight_line": [[0.3, -0.7, 1.1, 0.2], [1.5, -0.5, 0.25, 2.0]],
    "branch": [[0.1, -1.5, 0.4]],
    "unrolled": [[0.2, 1.3]],
    "while_kept": [[0.1, 0.4], [1.1, 0.9]],
    "scan_kept": [[1.5, -0.5], [0.4, 1.2]],
    "own_bprop": [[0.3, -0.4, 1.2]],
    "second_order": [[0.3, -0.4, 1.2]],
}
EXPECTED = {f.__name__: f for f in (straight_line, branch, unrolled, while_kept, scan_kept, own_bprop, second_order)}


def golden(name, stage):
    return (GOLDENS / name / f"{stage}.ir").read_text("ascii")


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("own", [True, False])
def test_the_text_computes_what_the_program_says(name, stage, own, programs):
    arrays = programs[name].ARGUMENTS if own else [np.array(a, np.float32) for a in ARRAYS[name]]
    results = ms.parse_ir(golden(name, stage)).run(*arrays)
    expected = EXPECTED[name](*[a.astype(np.float64) for a in arrays])
    assert len(results) == len(expected)
    for got, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("stage", STAGES)
def test_a_step_of_training_writes_the_parameters(stage, programs):
    x, y = programs["mlp_step"].ARGUMENTS
    names = ["first.weight", "first.bias", "second.weight", "second.bias"]
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape).astype(np.float32) for shape in ((4, 3), (4,), (1, 4), (1,))]

    def loss(w1, b1, w2, b2):
        return ((np.tanh(x @ w1.T + b1) @ w2.T + b2 - y) ** 2).mean()

    others = {"learning_rate": np.float32(0.1), "global_step": np.array([3], np.int32)}
    program = ms.parse_ir(golden("mlp_step", stage), states=dict(zip(names, weights, strict=True)) | others)
    (got,) = program.run(x, y)
    np.testing.assert_allclose(got, loss(*weights), rtol=1e-5)
    for name, before, grad in zip(names, weights, differences(loss, weights), strict=True):
        np.testing.assert_allclose(program.states[name], before - 0.1 * grad, rtol=1e-4, atol=1e-5)
    assert program.states["global_step"].tolist() == [4]


@pytest.mark.parametrize("stage", STAGES)
def test_random_numbers_follow_from_the_state_which_moves_on(stage, programs):
    x, w = programs["dropout"].ARGUMENTS
    state = np.array([7, 0, 11])
    program = ms.parse_ir(golden("dropout", stage), states={"random_state": state})
    value, dx, dw = program.run(x, w)
    # The numbers that the state stands for, drawn by NumPy's generator as primitives/random.py documents it
    generator = np.random.Generator(np.random.Philox(counter=[0, 11, 0, 0], key=[7, 0]))
    kept = generator.random(6, np.float32) >= 0.5
    assert 0 < kept.sum() < 6
    h = np.where(kept, x * w * 2, 0)
    np.testing.assert_allclose(value, (h * h).sum(), rtol=1e-5)
    np.testing.assert_allclose(dx, np.where(kept, 4 * h * w, 0), rtol=1e-5)
    np.testing.assert_allclose(dw, np.where(kept, 4 * h * x, 0), rtol=1e-5)
    assert program.states["random_state"].tolist() == [7, 0, 12]


@pytest.mark.parametrize("stage", STAGES)
def test_effects_are_in_the_text(stage, programs, capsys):
    errors = {"exception0": lambda: AssertionError("too large"), "exception1": lambda: ValueError("negative")}
    program = ms.parse_ir(golden("effects", stage), callables=errors)
    (got,) = program.run(np.array([1.0, 3.0], np.float32))
    np.testing.assert_allclose(got, [2.0, 6.0])
    assert capsys.readouterr().out == "the sum is 4.0\n"
    with pytest.raises(ValueError, match="negative"):
        program.run(np.array([1.0, -3.0], np.float32))
    assert capsys.readouterr().out == "the sum is -2.0\n"
    with pytest.raises(AssertionError, match="too large"):
        program.run(np.array([99.0, 3.0], np.float32))


# ------------------------------------------------------------------------------------------- what a reader is told
def test_sums_name_the_lines_of_all_uses():
    assert "// sum of the uses at program.py:10, program.py:12" in golden("straight_line", "adjoint")
    line = next(line for line in golden("straight_line", "adjoint").splitlines() if line.startswith("  %d_w: "))
    assert "= add %d_w_part1, %d_w_part2" in line


def test_what_is_saved_and_recomputed_is_told():
    text = golden("scan_kept", "adjoint")
    assert "// kept for the adjoint: %saved_h_1" in text
    assert "// computed again for the adjoint: %again_6, %again_u_2" in text
    assert "%was_h_1 = %saved_h_1" in text


def test_library_code_shows_the_line_that_called_it():
    for line in golden("mlp_step", "front").splitlines():
        assert ("dense.py" not in line) or re.search(r"@ program\.py:18:\d+ in dense\.py:\d+:\d+", line)


def test_effects_are_marked():
    text = golden("effects", "opt")
    for note in ("effect: prints", "effect: raises unless %1", "effect: raises"):
        assert f"// {note}" in text
    assert "// effect: becomes the state @first.weight" in golden("mlp_step", "opt")
    assert "draws random numbers, which follow from %random_state" in golden("dropout", "opt")


def test_the_header_says_what_was_asked():
    header = golden("mlp_step", "adjoint").splitlines()[:4]
    assert header[0] == "// stage adjoint of step(f32[2,3], f32[2,1])"
    assert "derivative by @first.weight, @first.bias, @second.weight, @second.bias at program.py:32" in header[2]
    assert "optimize 2; backend auto" in header[2]
    assert header[3].startswith("// key: f32[2,3], f32[2,1]")


def test_a_large_constant_is_summarised():
    table = np.linspace(-1, 1, 50, dtype=np.float32)
    table[3] = np.inf
    text = ms.jit(lambda x: x * ms.Tensor(table)).lower(ms.Tensor(np.ones(50, np.float32))).ir("opt")
    line = next(line for line in text.splitlines() if line.startswith("constant "))
    assert line.endswith("f32[50]  // -1 .. 1; begins -1, -0.959184, -0.918367; 1 not finite")
    np.testing.assert_array_equal(text.run(np.ones(50, np.float32))[0], table)


def test_long_lists_are_cut():
    lines = "".join(f"    y = y + ms.ops.sin(x) * {i}.5\n" for i in range(12))
    branches = "".join(f"    if x.sum() > {i}.5:\n        y = y * 2.0\n" for i in range(25))
    artifact = ms.jit(ms.grad(define(f"def f(x):\n    y = x * x\n{lines}{branches}    return y.sum()"))).lower(
        ms.Tensor(np.ones(3, np.float32))
    )
    front = artifact.ir("front").splitlines()
    assert front[-1] == "// 5 more loops and branches: explain() names them"
    assert sum(line.startswith("// if at ") for line in front) == 20
    sums = [line for line in artifact.ir("adjoint").splitlines() if "sum of the uses" in line]
    assert any(line.endswith(" more lines") for line in sums)
    assert max(map(len, sums)) < 400
