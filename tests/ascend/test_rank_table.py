"""Tables of ranks: what is read, and what is wrong with a file, by place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler.backends.ascend.rank_table import Place, read
from autodiff_compiler.errors import AscendError


def table(servers: int = 2, devices: int = 2) -> dict[str, Any]:
    """A table in the form of CANN's documents."""
    return {
        "status": "completed",
        "version": "1.0",
        "server_count": str(servers),
        "server_list": [
            {
                "server_id": f"node_{s}",
                "device": [
                    {"device_id": str(d), "device_ip": f"192.168.{s}.{d}", "rank_id": str(s * devices + d)}
                    for d in range(devices)
                ],
            }
            for s in range(servers)
        ],
    }


def written(folder: Path, data: object) -> str:
    path = folder / "table.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return str(path)


def test_ranks_in_any_order_on_several_servers(tmp_path: Path) -> None:
    data = table()
    data["server_list"][0]["device"].reverse()
    data["server_list"].reverse()
    found = read(written(tmp_path, data))
    assert found.places == (Place("node_0", 0), Place("node_0", 1), Place("node_1", 0), Place("node_1", 1))


def test_what_a_newer_table_says_more_is_left_to_hccl(tmp_path: Path) -> None:
    data = table(1) | {"version": "1.2", "super_pod_list": [{"super_pod_id": "0"}]}
    data["server_list"][0]["device"][0] |= {"super_device_id": "0", "device_ip": "fe80::1"}
    data["server_list"][0]["host_ip"] = "172.16.0.1"
    del data["server_list"][0]["device"][1]["device_ip"]
    assert len(read(written(tmp_path, data)).places) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.update(status="initializing"), "status is 'initializing'"),
        (lambda t: t.update(version="0.9"), "version is '0.9'; it may be 1.0 or 1.2"),
        (lambda t: t.pop("version"), "the file has no version"),
        (lambda t: t.update(group_list=[]), 'older form with "group_list"'),
        (lambda t: t.update(server_count="3"), "server_count is 3, but server_list has 2"),
        (lambda t: t.update(server_count=2), "the file.server_count is a text, not 2"),
        (lambda t: t.update(server_list={}), "the file.server_list is a list, not {}"),
        (lambda t: t["server_list"].__setitem__(1, 5), r"server_list\[1\] is an object, not 5"),
        (lambda t: t["server_list"][1].update(server_id="node_0"), r"server_list\[1\].server_id is 'node_0', as of"),
        (lambda t: t["server_list"][1].pop("device"), r"server_list\[1\] has no device"),
        (lambda t: t["server_list"][0]["device"][1].update(rank_id="0"), r"device\[1\].rank_id is 0, as of another"),
        (
            lambda t: t["server_list"][0]["device"][1].update(device_id="0"),
            r"device\[1\].device_id is 0, as of another",
        ),
        (lambda t: t["server_list"][0]["device"][1].update(rank_id="9"), r"not numbered from 0 on: \[1\] missing"),
        (lambda t: t["server_list"][0]["device"][1].update(rank_id="-1"), r"device\[1\].rank_id is '-1', no number"),
        (lambda t: t["server_list"][0]["device"][1].update(rank_id="\uff11"), "no number"),
        (lambda t: t["server_list"][0]["device"][0].update(device_ip="10.0.0"), r"device_ip is '10.0.0', no address"),
        (lambda t: t["server_list"][0]["device"][0].update(device_ip=7), "device_ip is a text, not 7"),
        (lambda t: t.update(version="1.0\x1b[2J"), r"version is '1.0\\x1b\[2J'"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, change: Any, said: str) -> None:
    data = table()
    change(data)
    path = written(tmp_path, data)
    with pytest.raises(AscendError, match=said) as raised:
        read(path)
    assert str(raised.value).startswith(f"the rank table {path}: ")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": 1, "b": NaN,}', "\udc80"])
def test_what_is_no_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(AscendError, match="it is no JSON"):
        read(str(path))


def test_other_values_than_objects_missing_files_and_long_paths(tmp_path: Path) -> None:
    with pytest.raises(AscendError, match="the file is an object, not 3"):
        read(written(tmp_path, "3"))
    with pytest.raises(AscendError, match="RANK_TABLE_FILE names it, but it cannot be read: No such file"):
        read(str(tmp_path / "none"))
    with pytest.raises(AscendError, match="paths of less than 4096 bytes"):
        read("x" * 4096)


def test_it_is_compared_with_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_RT_VISIBLE_DEVICES", raising=False)
    found = read(written(tmp_path, table()))
    found.check(3, 4, 1)
    with pytest.raises(AscendError, match="it has 4 ranks, but 2 processes were started"):
        found.check(0, 2, 0)
    with pytest.raises(AscendError, match=r"rank 1 has device 1 there, but this process uses device 0"):
        found.check(1, 4, 0)
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "1,3")
    found.check(1, 4, 0)  # this process's 0 is the server's 1
    with pytest.raises(AscendError, match="uses device 3"):
        found.check(1, 4, 1)
