"""Writes recorded.json: what the programs of ../*_programs.py do in MindSpore.  Needs `mindspore` 2.10.

python record.py
"""

import importlib
import json
import sys
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
for path in sorted(HERE.parent.glob("*_programs.py")):
    importlib.import_module(f"{HERE.parent.name}.{path.stem}")
programs = importlib.import_module(f"{HERE.parent.name}.programs").PROGRAMS

entries = []
for name, run in programs.items():
    facts = ",\n  ".join(json.dumps(fact) for fact in run(ms, ds))
    entries.append(f" {json.dumps(name)}: [\n  {facts}\n ]")
(HERE / "recorded.json").write_text("{\n" + ",\n".join(entries) + "\n}\n", "utf-8")
