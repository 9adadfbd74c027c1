"""Opens the region's CA, which is at hand: its key is the operator's and never leaves this machine.

So a region renews itself and its nodes while the federation is away.
"""

from pathlib import Path

from cryptography import x509

from intertie.errors import Reason, error
from intertie.pki.authority import Authority
from intertie.pki.ca_files import load_authority
from intertie.pki.load import IdentityDirectory

SHARD = 8
"""Of the region's store, beside those of runs and of the log."""


def open_authority(directory: Path, identity: IdentityDirectory, region: str) -> Authority:
    """Load the CA and check that it is the one that we serve under.

    Raises:
        IntertieError: CONFIG_INVALID naming the directory.
    """
    authority = load_authority(directory, identity.federation, region)
    trusted = x509.load_pem_x509_certificates(identity.current.trust_pem)
    if authority.root not in trusted:
        raise error(
            Reason.CONFIG_INVALID,
            f"enrollment.ca_dir: the root of {directory} is not the one that we serve under.",
            remedy=f"Use the CA that issued {identity.path}.",
        )
    return authority
