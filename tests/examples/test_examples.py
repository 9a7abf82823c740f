"""The examples at small size: what they learn is checked by other means than theirs, and both modes do the same."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import integrate, special

import autodiff_compiler as ms
from autodiff_compiler import Tensor, cli
from autodiff_compiler.dataset import config
from autodiff_compiler.runtime.random import generator
from tests.agreement import bits

FOLDER = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    monkeypatch.setattr(config, "_own", None)
    monkeypatch.setattr(generator, "seed", generator.seed)

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"{name}_example", FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    ms.set_context(mode=ms.PYNATIVE_MODE)


def both_modes(main: Callable, *arguments: str) -> tuple:
    return main([*arguments, "--mode", "eager"]), main([*arguments, "--mode", "graph"])


def test_every_example_is_in_the_readme_and_says_how_to_run_it() -> None:
    readme = (FOLDER.parent / "README.md").read_text("utf-8")
    for path in FOLDER.glob("*.py"):
        assert f"examples/{path.name}" in readme
        assert f"python examples/{path.name}" in path.read_text("utf-8").split('"""')[1]


def test_digits_shows_a_few_lines_and_how_to_see_all(
    example: Callable, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands it names print what it shows, line by line."""
    monkeypatch.setattr("sys.argv", [str(FOLDER / "digits.py")])
    module = example("digits")
    module.show_compiled(module.make(0, 1)[0])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 25
    commands = re.findall(r"-m autodiff_compiler (dump .*)", shown)
    assert len(commands) == 2
    for command, excerpt in zip(commands, shown.split("\n\n")[-2:], strict=True):
        assert cli.main(shlex.split(command)) == 0
        printed = {line[: module.WIDTH - 3] for line in capsys.readouterr().out.splitlines()}
        lines = [line for line in excerpt.splitlines() if not line.startswith("---") and line]
        assert len(lines) == module.SHOWN
        assert {line[: module.WIDTH - 3] for line in lines} <= printed


def test_a_layer_that_an_equation_defines_reads_digits(example: Callable) -> None:
    """Every search converges, and both modes learn the same."""
    pytest.importorskip("sklearn", reason="the extra `examples` is not installed")
    eager, graph = both_modes(example("implicit_layer").main, "--epochs", "2")
    for losses, steps, failed, accuracy in (eager, graph):
        assert failed == 0
        assert max(steps) < 20
        assert np.mean(losses[-10:]) < 0.5 * np.log(10)  # of guessing
        assert accuracy > 0.85
    np.testing.assert_allclose(eager[0][:20], graph[0][:20], rtol=1e-3)


def test_lenet_tells_bars_apart(example: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    losses, accuracy = example("lenet").main(["--synthetic", "--epochs", "4"])
    assert np.mean(losses[-20:]) < 0.2 * np.log(4)  # of guessing
    assert accuracy > 0.95
    assert capsys.readouterr().out.count("epoch") == 4


@pytest.mark.long
def test_lenet_reads_digits(example: Callable) -> None:
    pytest.importorskip("sklearn", reason="the extra `examples` is not installed")
    losses, accuracy = example("lenet").main(["--small", "--epochs", "8"])
    assert np.mean(losses[-10:]) < 0.3 * np.log(10)
    assert accuracy > 0.8


def test_lenet_is_the_same_in_both_modes(example: Callable) -> None:
    (eager, right), (graph, same) = both_modes(example("lenet").main, "--synthetic", "--small", "--epochs", "1")
    np.testing.assert_allclose(eager, graph, rtol=1e-3)
    assert right == pytest.approx(same, abs=0.03)


def test_the_reader_of_letters_knows_more_than_their_shares(example: Callable) -> None:
    module = example("lstm_characters")
    losses, written = module.main(["--steps", "120"])
    assert losses[0] == pytest.approx(np.log(len(module.LETTERS)), rel=0.1)  # it knows nothing
    assert np.mean(losses[-20:]) < 0.35 * module.entropy_of_letters()
    words = written.split()[:-1]  # the last may be cut off
    assert sum(word in module.TEXT.split() for word in words) > 0.8 * len(words)
    counts = np.array([module.TEXT.count(letter) for letter in module.LETTERS])
    assert module.entropy_of_letters() == pytest.approx(float(special.entr(counts / counts.sum()).sum()))


def test_the_reader_of_letters_is_the_same_in_both_modes(example: Callable) -> None:
    (eager, _), (graph, _) = both_modes(example("lstm_characters").main, "--steps", "6")
    np.testing.assert_allclose(eager, graph, rtol=1e-4)


def test_the_transformer_looks_across(example: Callable) -> None:
    module = example("transformer_block")
    losses, accuracy, looks = module.main(["--steps", "150"])
    assert np.mean(losses[-10:]) < 0.1 * np.log(module.DIGITS)
    assert accuracy > 0.98
    np.testing.assert_allclose(looks.sum(1), 1, rtol=1e-5)
    assert looks.argmax(1).tolist() == list(range(module.LENGTH))[::-1]


def test_the_transformer_is_the_same_in_both_modes(example: Callable) -> None:
    (eager, *_), (graph, *_) = both_modes(example("transformer_block").main, "--steps", "10")
    np.testing.assert_allclose(eager, graph, rtol=1e-3)


def test_the_network_becomes_the_solution(example: Callable) -> None:
    module = example("ode_pinn")
    losses, counted, curve = module.main(["--steps", "1200"])
    assert counted[0] == 1
    assert counted[-1] == module.STRETCHES
    assert losses[-1] < 1e-3
    t = np.linspace(0, module.END, 50)
    solved = integrate.solve_ivp(lambda _, u: u * (1 - u), (0, module.END), [module.START], t_eval=t, rtol=1e-8)
    np.testing.assert_allclose(module.solution(t), solved.y[0], rtol=1e-5)
    np.testing.assert_allclose(curve(Tensor(t[:, None], ms.float32)).asnumpy()[:, 0], solved.y[0], atol=0.03)


def test_the_loop_over_time_is_the_same_in_both_modes(example: Callable) -> None:
    (eager, stretches, _), (graph, same, _) = both_modes(example("ode_pinn").main, "--steps", "40")
    np.testing.assert_allclose(eager, graph, rtol=2e-3)
    assert stretches == same


def test_the_hook_keeps_gradients_short(example: Callable) -> None:
    module = example("clip_by_hook")
    results = module.main(["--steps", "100"])
    # The gradient of the weights is a sum over time of (state before)^T times (gradient of the sum in tanh): the states
    # are at most 1 in size, 16 rows of them, and the gradients at most as long as the hook lets them be.
    bound = module.LENGTH * (16 * module.HIDDEN) ** 0.5 * module.BOUND
    (_, wild), (losses, tame) = results[False], results[True]
    assert max(tame) <= bound < max(wild)
    assert np.mean(losses[-20:]) < 0.6 * np.mean(losses[:5])

    gradient = np.random.default_rng(0).normal(size=(3, 4))
    for scale in (1e-4, 1.0):
        expected = scale * gradient * min(1, module.BOUND / np.linalg.norm(scale * gradient))
        np.testing.assert_allclose(module.clipped(Tensor(scale * gradient)).asnumpy(), expected, rtol=1e-6)


def test_the_hook_is_the_same_in_both_modes(example: Callable) -> None:
    eager, graph = both_modes(example("clip_by_hook").main, "--steps", "4")
    # Weights that differ in their last place make the losses of the next steps differ by up to a half.
    for clip, steps in ((True, 4 if bits() else 1), (False, 1)):
        first = [[losses[:steps], norms[:steps]] for losses, norms in (eager[clip], graph[clip])]
        np.testing.assert_allclose(*first, rtol=1e-2)


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_the_operator_finds_the_diode(example: Callable, mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = example("custom_operator")
    losses, found = module.main(["--mode", mode, "--steps", "250"])
    assert losses[-1] < 1e-3 * losses[0]
    np.testing.assert_allclose(found, [0.05, 0.8], rtol=0.05)
    assert "its bprop is its derivative: True" in capsys.readouterr().out
    x = np.array([0.0, 1e-3, 0.5, 1.0, 10.0, 1e4])
    w = special.lambertw(x).real
    lambert = module.LambertW()
    np.testing.assert_allclose(lambert(Tensor(x)).asnumpy(), w, rtol=1e-10)
    slope = ms.grad(lambda t: lambert(t).sum())(Tensor(x)).asnumpy()
    np.testing.assert_allclose(slope, np.exp(-w) / (1 + w), rtol=1e-10)


def test_one_process_trains_in_data_parallel_mode(example: Callable) -> None:
    (eager, accuracy), (graph, same) = both_modes(example("data_parallel").main)
    np.testing.assert_allclose(eager, graph, rtol=1e-3)
    assert accuracy > 0.85
    assert same > 0.85
