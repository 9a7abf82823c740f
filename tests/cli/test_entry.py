"""What all commands have in common: help, JSON, exit statuses, colours, pipes, Ctrl-C."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

import autodiff_compiler as ms
from autodiff_compiler.cli import entry, main
from autodiff_compiler.cli.entry import COMMANDS
from tests.cli.conftest import ROOT

NAMES = [command.name for command in COMMANDS]
ESCAPE = "\x1b["


# ------------------------------------------------------------------------------------------------ help
def test_all_commands_are_there(call):
    assert {"dump", "check", "explain", "gradcheck", "bench", "diff", "run", "view", "cache", "env"} <= set(NAMES)
    answer = call("--help")
    assert (answer.status, answer.err) == (0, "")
    assert all(f"\n    {name}" in answer.out for name in NAMES)
    assert "exit status" in answer.out


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_help_has_examples_that_the_command_understands(command, call):
    answer = call(command.name, "--help")
    assert (answer.status, answer.err) == (0, "")
    examples = answer.out.partition("examples:\n")[2].partition("\n\n")[0].splitlines()
    assert len(examples) == len(command.examples) >= 1
    assert "--json" in answer.out
    for example in command.examples:
        words = shlex.split(example)
        assert words[0] == command.name
        if command.direct is None:
            assert entry._parser().parse_args(words).command is command


def test_version(call):
    assert call("--version") == (0, f"autodiff_compiler {ms.__version__}\n", "")


def test_help_loads_what_importing_the_package_does():
    """Which is why it is quick: no compiler, and of the packages that only compiling and plotting need none."""
    words = [["--help"], *([name, "--help"] for name in NAMES)]
    calls = f"from autodiff_compiler.cli import main; assert not any(map(main, {words}))"
    piped = {"capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", f"{calls}; import sys; print(*sys.modules)"], **piped)
    loaded = [name.split(".") for name in done.stdout.splitlines()[-1].split()]
    rooms = {name[1] for name in loaded if name[0] == "autodiff_compiler" and len(name) > 2}
    # all but the first two belong to Tensor
    assert rooms == {"cli", "collectives", "eager", "ir", "primitives", "runtime"}
    heavy = {"gast", "llvmlite", "matplotlib", "ml_dtypes", "mpi4py", "rich", "scipy"}
    assert heavy.isdisjoint(name[0] for name in loaded)


def test_the_console_script_is_this_function():
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="autodiff-compiler")
    assert script.load() is main


def test_the_console_script_runs(model):
    script = shutil.which("autodiff-compiler", path=os.path.dirname(sys.executable))
    if script is None:
        pytest.skip("the package is not installed, only on the path")
    done = subprocess.run([script, "explain", "AC1402", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["code"] == "AC1402"
    done = subprocess.run([script, "dump"], capture_output=True, text=True, check=False)
    assert (done.returncode, "`autodiff-compiler dump --help`" in done.stderr) == (2, True)


def test_the_console_script_calls_itself_by_its_name(call, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/autodiff-compiler", "--help"])
    assert call("cache", "--help").out.startswith("usage: autodiff-compiler cache ")


# ------------------------------------------------------------------------------------------------ wrong usage
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "command"),
        (["dmp"], "there is no command 'dmp'; did you mean dump?"),
        (["xyz"], "there is no command 'xyz'; there are run, dump, "),
        (["dump"], "the following arguments are required: target; `python -m autodiff_compiler dump --help`"),
        (["dump", "model.py:loss", "--grad", "one"], "argument --grad: 'one' is neither the number"),
        (["dump", "model.py:loss", "--args", "f32[3,2] f32[4,3]", "--grad", "-1"], "'-1' is neither the number"),
        (["dump", "model.py:loss", "--backend", "gpu"], "--backend"),
        (["cache", "burn"], "argument info|clear: invalid choice: 'burn'"),
        (["cache"], "the following arguments are required: info|clear; `"),
        (["env", "--fast"], "env has no option --fast; `python -m autodiff_compiler env --help` says what there is"),
        (["bench", "model.py:loss", "--save", "fit.svg"], "bench has no option --save; did you mean --plot FILE?; `"),
        (["view", "model.py:loss", "--out=fit.html"], "view has no option --out; did you mean --output FILE?; `"),
        (["dump", "model.py:loss", "--hmtl", "x.html"], "dump has no option --hmtl; did you mean --html FILE?; `"),
        (["dump", "model.py:loss", "--args", "f32[2]", "f32[3]"], "dump has no use for f32[3]; in --args several are"),
        (["explain", "AC1403x"], "there is no error code 'AC1403x'; did you mean AC1403 or "),
        (["run", "--args", "f32[2]", "train.py"], "the options of `run` are for files of IR"),
    ],
)
def test_wrong_usage_is_one_line_or_one_document(words, says, call, model):
    answer = call(*words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("autodiff_compiler: ")
    assert says in answer.err
    assert answer.err.count("\n") == 1
    document = call(*words[:1], "--json", *words[1:])
    assert (document.status, document.err) == (2, "")
    assert document.json["error"]["class"] == "Usage"
    assert document.json["error"]["code"] is None
    assert says in document.json["error"]["message"]


@pytest.mark.parametrize("words", [["dump", "model.py:loss"], ["explain", "model.py:loss"]])
def test_an_argument_that_is_not_there(words, call, model):
    answer = call(*words, "--args", "f32[3,2] f32[4,3]", "--grad", "5")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.endswith("--grad 5: the last argument of --args has the number 1\n")


def test_a_program_that_does_not_exist_as_json(call, model):
    answer = call("run", "nofile.py", "--json")
    assert (answer.status, answer.err, answer.json["error"]["class"]) == (2, "", "Usage")
    assert answer.json["error"]["message"] == f"there is no file {model.parent / 'nofile.py'}"


def test_a_folder_is_no_file(call, model):
    assert call("check", str(model.parent)).err == f"autodiff_compiler: {model.parent} is a folder, not a file\n"


# ------------------------------------------------------------------------------------------------ what is refused
def test_a_refused_program_as_text_and_as_json(call, model):
    answer = call("dump", "model.py:broken", "--args", "f32[2]")
    assert (answer.status, answer.out) == (1, "")
    assert "UnsupportedSyntaxError [AC1101]" in answer.err
    assert "model.py:19:" in answer.err
    document = call("dump", "model.py:broken", "--args", "f32[2]", "--json")
    assert (document.status, document.err) == (1, "model.py is imported\n")
    error = document.json["error"]
    assert (error["code"], error["spans"][0]["line"]) == ("AC1101", 19)


def test_what_the_program_raises_is_told_with_its_line(call, model):
    model.write_text("import autodiff_compiler\n\nraise ValueError('no luck')\n")
    answer = call("dump", "model.py:f")
    assert (answer.status, answer.err) == (1, f"ValueError: no luck\n  at {model}:3\n")
    error = call("dump", "model.py:f", "--json").json["error"]
    assert (error["class"], error["message"], error["place"]) == ("ValueError", "no luck", f"{model}:3")


def test_the_full_traceback_when_asked_for(call, model, monkeypatch):
    model.write_text("raise ValueError('no luck')\n")
    monkeypatch.setenv("AC_FULL_TRACEBACK", "1")
    with pytest.raises(ValueError, match="no luck"):
        call("dump", "model.py:f")


def test_what_the_program_prints_is_no_part_of_the_output(call, model):
    answer = call("dump", "model.py:settle", "--args", "f32[2]")
    assert "model.py is imported" in answer.err
    assert "model.py is imported" not in answer.out


def test_numbers_that_json_does_not_know():
    text = entry._plain({"a": [float("inf"), -float("inf"), float("nan"), 1.5], 1: (True, None, "x")})
    assert json.loads(json.dumps(text, allow_nan=False)) == {
        "a": ["inf", "-inf", "nan", 1.5], "1": [True, None, "x"],
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------ colours
class Terminal(io.StringIO):
    def isatty(self):
        return True


DUMP = ["dump", "model.py:loss", "--args", "f32[3,2] f32[4,3]"]


@pytest.mark.parametrize(
    ("variables", "stream", "coloured"),
    [
        ({}, io.StringIO, False),
        ({}, Terminal, True),
        ({"TERM": "dumb"}, Terminal, False),
        ({"NO_COLOR": "1"}, Terminal, False),
        ({"NO_COLOR": ""}, Terminal, True),
        ({"FORCE_COLOR": "1"}, io.StringIO, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, Terminal, False),
    ],
)
def test_colours_are_for_terminals(variables, stream, coloured, model, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out, err = stream(), stream()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert main(DUMP) == 0
    assert main(["dump", "model.py:broken", "--args", "f32[2]"]) == 1
    assert main(["explain", "AC9999"]) == 2
    assert (ESCAPE in out.getvalue()) == coloured
    assert (ESCAPE in err.getvalue()) == coloured


def test_names_and_lines_do_not_command_the_terminal(model, monkeypatch):
    model.with_name("hostile.py").write_text(
        'def f(x):\n    """\x1b]0;title\x07"""\n    return x * 2  # \x1b[2J\n', "utf-8"
    )
    for stream, raw in ((Terminal, False), (io.StringIO, True)):  # a file gets what there is
        out = stream()
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["dump", "hostile.py:f", "--args", "f32[2]", "--stage", "source"]) == 0
        assert ("\x1b[2J" in out.getvalue(), "\x1b]0;" in out.getvalue()) == (raw, raw)
        assert raw or r"# \x1b[2J" in out.getvalue()


def test_colours_change_no_word_and_json_has_none(call, model, monkeypatch):
    commands = [DUMP, [*DUMP, "--stage", "source,front,plan,code"], ["diff", *DUMP[1:]]]
    for words in (*commands, ["gradcheck", *DUMP[1:]], ["check", "model.py", "--all"]):
        plain = call(*words).out
        monkeypatch.setenv("FORCE_COLOR", "1")
        painted = call(*words).out
        assert painted.count("\x1b[") >= 2
        assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain
        assert ESCAPE not in call(*words, "--json").out
        monkeypatch.delenv("FORCE_COLOR")


# ------------------------------------------------------------------------------------------------ streams
def test_a_reader_that_has_seen_enough(start, model):
    process = start(*DUMP, "--stage", "all")
    process.stdout.close()  # as `| head -1` does, but sooner
    assert (process.wait(60), process.stderr.read()) == (0, "model.py is imported\n")
    process.stderr.close()


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="Ctrl-C is a signal")
def test_ctrl_c_leaves_quietly(start, model):
    model.write_text("import sys, time\nprint('ready', file=sys.stderr, flush=True)\ntime.sleep(60)\n")
    process = start("dump", "model.py:f")
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
    process = start("dump", "model.py:f", "--json")
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["error"]["class"], err) == (130, "KeyboardInterrupt", "")


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="Ctrl-C is a signal")
@pytest.mark.parametrize("words", [DUMP, [*DUMP, "--json"], ["run", "model.py", "--json"]], ids=" ".join)
def test_ctrl_c_while_the_package_is_imported(words, start, model, tmp_path):
    slow = "import sys, time\nprint('ready', file=sys.stderr, flush=True)\ntime.sleep(60)\n"
    (tmp_path / "numpy.py").write_text(slow)  # which the package needs
    process = start(*words, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    if words[0] == "run" or "--json" not in words:  # a program's --json is its own
        assert out == ""
    else:
        error = {"code": None, "class": "KeyboardInterrupt", "message": "interrupted by Ctrl-C"}
        assert out == json.dumps({"error": error}, indent=2) + "\n"


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="Ctrl-C is a signal")
@pytest.mark.parametrize(("name", "status"), [("f", 0), ("g", 2)])
def test_ctrl_c_once_the_command_is_done(name, status, start, model):
    """The output is complete: what is left of the process ends with the status that the command has."""
    model.write_text(
        "import atexit, sys, time\n\n@atexit.register\ndef late():\n    print('ready', file=sys.stderr, flush=True)\n"
        "    time.sleep(60)\n\ndef f(x):\n    return x\n"
    )
    process = start("dump", f"model.py:{name}", "--args", "f32[2]", "--json")
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err, "error" in json.loads(out)) == (status, "", status != 0)


def test_output_past_python_is_no_part_of_the_output(start, model):
    model.write_text(
        "import os, subprocess, sys\nos.write(1, b'one\\n')\n"
        "subprocess.run([sys.executable, '-c', 'print(2)'])\nsys.__stdout__.write('three\\n')\n"
        "def f(x):\n    return x\n"
    )
    out, err = start("dump", "model.py:f", "--args", "f32[2]", "--json").communicate(timeout=60)
    assert sorted(err.splitlines()) == ["2", "one", "three"]
    assert json.loads(out)["target"] == "model.py:f"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full disk is stood for by /dev/full, which Linux has")
@pytest.mark.parametrize(("to", "why"), [(">&-", "Bad file descriptor"), ("> /dev/full", "No space left on device")])
def test_output_that_cannot_be_written(to, why, model):
    words = shlex.join([sys.executable, "-m", "autodiff_compiler", *DUMP])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", f"{words} {to}"], stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr == f"model.py is imported\nautodiff_compiler: the output cannot be written: {why}\n"


def test_a_terminal_of_another_language(start, model):
    model.write_text("def größe(x):\n    return x * 2  # ändert die Größe\n", "utf-8")
    words = ["dump", "model.py:größe", "--args", "f32[2]", "--stage", "source"]
    out, err = start(*words, PYTHONIOENCODING="ascii", PYTHONUTF8="0").communicate(timeout=60)
    assert (out, err) == ("def gr\\xf6\\xdfe(x):\n    return x * 2  # \\xe4ndert die Gr\\xf6\\xdfe\n", "")
