"""Host names that a region may ask for: what its name constraint permits beside its own domain.

A DNS constraint permits everything below the name, so a careless one would let a region's CA vouch
for the federation's servers. Must not resolve anything.
"""

import re
from collections.abc import Sequence

from intertie.errors import invalid
from intertie.pki.authority import is_address

MAX_HOSTS = 16
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*")


def check_hosts(hosts: Sequence[str], trust_domain: str) -> None:
    """Refuse hosts that are none, or that would reach into the federation's own names.

    Raises:
        IntertieError: INVALID_FIELD for `hosts`.
    """
    if len(hosts) > MAX_HOSTS:
        raise invalid("hosts", f"has {len(hosts)} entries; {MAX_HOSTS} are allowed.")
    for host in hosts:
        if is_address(host):
            continue
        if _HOST.fullmatch(host) is None:
            raise invalid("hosts", f"{host[:80]!r} is no host name in lower case and no address.")
        if f".{trust_domain}".endswith(f".{host}") or host.endswith(f".{trust_domain}"):
            raise invalid(
                "hosts",
                f"{host} would let the region vouch for names of the federation.",
                remedy="Leave it out: the region's own names are permitted anyway.",
            )
