"""`intertie rejoin`: a region whose certificates are lost or over comes back by its log's key."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer
from cryptography import x509

from intertie.cli.calling import run
from intertie.cli.joining.joined import ca_key, write_ca
from intertie.cli.joining.region import issue_identities
from intertie.cli.printing import lines
from intertie.clock import SystemClock
from intertie.errors import Reason, error
from intertie.pki.authority import root_pin
from intertie.pki.ca_files import ROOT_CERT
from intertie.pki.files import read_private, read_public, unusable
from intertie.pki.issue import create_csr
from intertie.pki.join.proof import prove
from intertie.pki.join.publickeys import key_digest
from intertie.sdk.membership.joiner import Joiner
from intertie.sdk.membership.values import LogKeyProof


def rejoin(
    endpoint: Annotated[
        str,
        typer.Option("--endpoint", metavar="HOST:PORT", help="Where those who join are served."),
    ],
    directory: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="The region's directory, as it joined.")
    ],
    hosts: Annotated[
        list[str] | None, typer.Option("--host", help="Under which nodes dial it. Repeatable.")
    ] = None,
) -> None:
    """Have a region certified again: it proves the key of its metering log, and needs no token.

    Use it when the CA's key or the certificates are lost. Nodes join again if that key was new.
    """
    config = _config(directory / "config.toml")
    region, named = str(config["region"]), tuple(hosts or ())
    root = x509.load_pem_x509_certificate(read_public(directory / "ca" / ROOT_CERT))
    seed = _seed(Path(str(config["state_dir"])) / "keys" / "log.key")
    key, _ = ca_key(directory / "ca")

    async def go() -> None:
        async with await Joiner.open_pinned(endpoint, root_pin(root)) as joiner:
            signed_ms = SystemClock().now().utc_ms
            signature = prove(seed, region, key_digest(key.public_key()), signed_ms)
            join = await joiner.rejoin(
                create_csr(key),
                LogKeyProof(region=region, signed_ms=signed_ms, signature=signature),
                hosts=named,
            )
            if join.credentials is None:
                raise error(Reason.INTERNAL, "The federation took the proof and certified nothing.")
            ca = write_ca(directory / "ca", key, join.credentials, joiner, region)
            issue_identities(directory, ca, named)

    run(go())
    lines(
        [
            f"region {region} is certified again; its scheduler and operator have new identities",
            f"next: intertie regional serve --config {directory / 'config.toml'}",
        ]
    )


def _config(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(read_public(path).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise unusable(path, f"is no TOML: {problem}", "Mend the line that it names.") from None
    for name in ("region", "state_dir"):
        if not isinstance(found.get(name), str):
            raise unusable(path, f"names no {name}", "Give the directory that it joined in.")
    return found


def _seed(path: Path) -> bytes:
    try:
        return bytes.fromhex(read_private(path).decode())
    except ValueError:
        raise unusable(path, "holds no key of 32 bytes in hex", "Restore it.") from None
