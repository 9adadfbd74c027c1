"""A key that waits for its certificate: on disk before it is asked for.

If the answer is lost, even by the end of our process, the same key is presented again, and whoever
issues knows it: a fresh key would be a stranger.
"""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from intertie.pki.authority import new_key
from intertie.pki.files import make_private_directory, read_private, write_private
from intertie.pki.load import key_to_pem, load_tls_key

PENDING = "next-key.pem"
"""Of an identity directory: the key of the renewal that is under way."""


def key_at(path: Path) -> tuple[ec.EllipticCurvePrivateKey, bool]:
    """The key in a file, made if it is not there; and whether it was there."""
    if path.exists():
        return load_tls_key(path, read_private(path)), True
    make_private_directory(path.parent)
    key = new_key()
    write_private(path, key_to_pem(key), replace=False)
    return key, False
