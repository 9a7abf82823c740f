"""Data-parallel training under `mpiexec`, compared with training alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from autodiff_compiler import load_checkpoint
from tests.distributed.launched import Checks, needs_mpi, run

pytestmark = needs_mpi
_FILE = Path(__file__).parent / "programs" / "training.py"
RUNS = {processes: Checks(_FILE, processes, limit=120) for processes in (2, 4)}


@pytest.mark.parametrize("processes", list(RUNS))
def test_checks(processes: int) -> None:
    RUNS[processes].verify()


# ------------------------------------------------------------------------------------------- programs for MindSpore
_SCRIPTS = _FILE.parents[1] / "scripts"
_COMMAND = "import sys\nfrom autodiff_compiler.cli import main\nsys.exit(main(sys.argv[1:]))\n"


def _run(name: str, *words: str) -> list[str]:
    """What each of two processes prints in a program that imports `mindspore`."""
    done = run(_COMMAND, 2, "run", str(_SCRIPTS / f"{name}.py"), *words)
    assert done.status == 0, done.err
    return done.out


def _last(text: str, word: str) -> str:
    return next(line for line in reversed(text.splitlines()) if line.startswith(word))


def test_a_loop_with_a_reducer() -> None:
    first, second = _run("own_loop")
    assert _last(first, "weights") == _last(second, "weights")
    assert first.count("epoch: ") == second.count("epoch: ") == 4
    assert _last(first, "epoch") != _last(second, "epoch")  # the losses are those of each one's own batches


def test_model_with_callbacks_and_files_of_each_process(tmp_path: Path) -> None:
    outs = _run("model_train", str(tmp_path))
    assert _last(outs[0], "weights") == _last(outs[1], "weights")
    assert [out.count("loss is") for out in outs] == [3, 3]
    assert [[file.name for file in (tmp_path / f"rank_{r}").glob("*.ckpt")] for r in (0, 1)] == [["net-3_4.ckpt"]] * 2


def test_a_train_step_of_ones_own_adds_gradients() -> None:
    for out in _run("train_wrapper"):
        _, found, _, wanted = _last(out, "weight").split()
        assert float(found) == pytest.approx(float(wanted), rel=1e-5)


def test_who_is_killed_while_saving_leaves_the_last_file_whole(tmp_path: Path) -> None:
    done = run(_SCRIPTS / "killed_while_saving.py", 2, str(tmp_path), limit=40)
    assert done.status != 0
    assert "trained on" not in "".join(done.out)
    assert [file.name for file in tmp_path.glob("*.ckpt")] == ["net-1_1.ckpt"]
    assert load_checkpoint(str(tmp_path / "net-1_1.ckpt"))["weight"].shape == (1, 2)
