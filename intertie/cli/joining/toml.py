"""Writes the configuration files of services, as a person would write them."""

import json
from collections.abc import Mapping
from pathlib import Path

from intertie.pki.files import write_private

Value = str | bool | list[str]


def write_config(path: Path, tables: Mapping[str, Mapping[str, Value]], *notes: str) -> bool:
    """Write a new file of mode 0600; one that is there stays, for it may have been edited."""
    if path.exists():
        return False
    lines = ["# Written by `intertie join`; edit it freely, it is not written again."]
    lines.extend(f"# {note}" for note in notes)
    for table, values in tables.items():
        if table:
            lines.append(f"\n[{table}]")
        # JSON's strings, booleans and arrays of strings are TOML's too.
        lines.extend(f"{key} = {json.dumps(value)}" for key, value in values.items())
    write_private(path, ("\n".join(lines) + "\n").encode())
    return True
