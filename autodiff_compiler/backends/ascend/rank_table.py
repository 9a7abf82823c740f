"""Tables of ranks: HCCL's files (RANK_TABLE_FILE) that say which device on which server each rank has.

Read as data, with checks of all that this package and HCCL rely on; the form is that of hiascend.com's "HCCL user
guide", rank table configuration (version 1.0 for Atlas A2, 1.2 for Atlas A3).
"""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import dataclass
from typing import Any

from ... import escape
from ...errors import AscendError

#: The environment variable that names the file, as for MindSpore.
TABLE_VARIABLE = "RANK_TABLE_FILE"
_VERSIONS = ("1.0", "1.2")
#: HCCL's limit, with the zero byte at the end.
_LONGEST_PATH = 4096


@dataclass(frozen=True)
class Place:
    """Where a rank is: its server, and the number that its device has there."""

    server: str
    device: int


@dataclass(frozen=True)
class RankTable:
    """A table of ranks: its file, and the place of each rank."""

    path: str
    places: tuple[Place, ...]

    def check(self, rank: int, size: int, device: int) -> None:
        """AscendError: the table has another number of ranks, or this rank on another device.

        `device` is the number that this process knows it by; ASCEND_RT_VISIBLE_DEVICES renumbers the server's.
        """
        if len(self.places) != size:
            raise self.error(f"it has {len(self.places)} ranks, but {size} processes were started")
        listed = self.places[rank].device
        if listed != physical(device):
            raise self.error(
                f"rank {rank} has device {listed} there, but this process uses device {physical(device)}: "
                f'call set_device("Ascend", ...) with it before init()'
            )

    def error(self, text: str) -> AscendError:
        """The error of this table."""
        return _error(self.path, text)


def physical(device: int) -> int:
    """The number on its server of a device that this process knows by `device`."""
    visible = [word.strip() for word in os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "").split(",")]
    return int(visible[device]) if device < len(visible) and visible[device].isdecimal() else device


def _error(path: str, text: str) -> AscendError:
    return AscendError(text=f"the rank table {escape.line(path)}: {text}")


def read(path: str) -> RankTable:
    """The table of a file; AscendError says what is wrong with it, and where in it."""
    if len(os.fsencode(path)) >= _LONGEST_PATH:
        raise _error(path[:80] + "...", f"HCCL takes paths of less than {_LONGEST_PATH} bytes")
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise _error(path, f"{TABLE_VARIABLE} names it, but it cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise _error(path, f"it is no JSON: {error}") from None
    return _Reader(path).table(data)


class _Reader:
    """Reads a table, and says where in its file a mistake is."""

    def __init__(self, path: str) -> None:
        self.path = path

    def table(self, data: Any) -> RankTable:
        if not isinstance(data, dict):
            raise self.wrong("the file", "an object", data)
        self.head(data)
        servers = self.field(data, "server_list", list, "the file")
        count = self.number(data, "server_count", "the file")
        if count != len(servers):
            raise _error(self.path, f"server_count is {count}, but server_list has {len(servers)}")
        places: dict[int, Place] = {}
        names: set[str] = set()
        for i, server in enumerate(servers):
            self.server(server, f"server_list[{i}]", names, places)
        missing = sorted(set(range(len(places))) - places.keys())
        if missing or not places:
            raise _error(self.path, f"its {len(places)} ranks are not numbered from 0 on: {missing or 'none'} missing")
        return RankTable(self.path, tuple([places[rank] for rank in range(len(places))]))

    def head(self, data: dict[str, Any]) -> None:
        """What says whether HCCL can use the table at all."""
        if "group_list" in data:
            raise _error(self.path, 'it is of the older form with "group_list": write one with "version": "1.0"')
        version = self.field(data, "version", str, "the file")
        if version not in _VERSIONS:
            raise _error(self.path, f"version is {version!r}; it may be {' or '.join(_VERSIONS)}")
        status = self.field(data, "status", str, "the file")
        if status != "completed":
            raise _error(self.path, f'status is {status!r}: HCCL can use it when it is "completed"')

    def server(self, server: Any, where: str, names: set[str], places: dict[int, Place]) -> None:
        """Enters the ranks of a server."""
        if not isinstance(server, dict):
            raise self.wrong(where, "an object", server)
        name = self.field(server, "server_id", str, where)
        if name in names:
            raise _error(self.path, f"{where}.server_id is {name!r}, as of another server")
        names.add(name)
        devices: set[int] = set()
        for k, device in enumerate(self.field(server, "device", list, where)):
            at = f"{where}.device[{k}]"
            if not isinstance(device, dict):
                raise self.wrong(at, "an object", device)
            number, rank = self.number(device, "device_id", at), self.number(device, "rank_id", at)
            if number in devices:
                raise _error(self.path, f"{at}.device_id is {number}, as of another rank of the server")
            if rank in places:
                raise _error(self.path, f"{at}.rank_id is {rank}, as of another device")
            self.address(device, at)
            devices.add(number)
            places[rank] = Place(name, number)

    def address(self, device: dict[str, Any], where: str) -> None:
        """The device's network address, which a table for one server may leave out."""
        text = device.get("device_ip", "")
        if not isinstance(text, str):
            raise self.wrong(f"{where}.device_ip", "a text", text)
        for part in text.split(",") if text else []:
            try:
                ipaddress.ip_address(part.strip())
            except ValueError:
                raise _error(self.path, f"{where}.device_ip is {part!r}, no address") from None

    def field(self, data: dict[str, Any], name: str, kind: type[str] | type[list[Any]], where: str) -> Any:
        """A field that must be there."""
        if name not in data:
            raise _error(self.path, f"{where} has no {name}")
        if not isinstance(data[name], kind):
            raise self.wrong(f"{where}.{name}", "a text" if kind is str else "a list", data[name])
        return data[name]

    def number(self, data: dict[str, Any], name: str, where: str) -> int:
        """A number, which is written as a text."""
        text = self.field(data, name, str, where)
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise _error(self.path, f"{where}.{name} is {text!r}, no number")
        return int(text)

    def wrong(self, where: str, wanted: str, found: Any) -> AscendError:
        return _error(self.path, f"{where} is {wanted}, not {escape.line(json.dumps(found)[:60])}")
