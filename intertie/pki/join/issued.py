"""What was issued to whom: one key per name, and only the newest certificate renews.

A name that was given to one key is not given to another. A renewal whose answer was lost may be
asked again with the same key, for as long as the certificate before it lives: whoever can prove
both is who was meant. A certificate that was made by hand is taken in when it is first renewed.
"""

from dataclasses import dataclass, replace

from intertie.errors import IntertieError, Reason, error
from intertie.pki.identity import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuance:
    """The newest certificate of one SPIFFE ID (of a region: of its CA, under the scheduler's).

    `serial` is empty while a region waits for approval. PEM texts are public.
    """

    subject: str
    key_sha256: str
    serial: str = ""
    issued_ms: int = 0
    expires_ms: int = 0
    previous_serial: str = ""
    cert_pem: str = ""
    chain_pem: str = ""
    token_id: str = ""


def check_free(
    before: Issuance | None, subject: str, key_sha256: str, now_ms: int, *, is_banned: bool = False
) -> None:
    """Refuse a name that another key holds.

    A name is free again when its last certificate ended or was banned (its serial, not the name):
    people lose laptops, and an ID that nobody can use must not be lost with them. A region's CA
    lives for years, so a region's name is as good as never free.

    Raises:
        IntertieError: ALREADY_EXISTS.
    """
    if before is None or before.key_sha256 == key_sha256:
        return
    if before.serial and (is_banned or before.expires_ms <= now_ms):
        return
    raise error(
        Reason.ALREADY_EXISTS,
        f"{subject} is taken by another key.",
        remedy="Choose another name, or revoke the certificate before (intertie identity revoke).",
        metadata={"resource": subject},
    )


def renewal(before: Issuance | None, caller: Identity, key_sha256: str) -> Issuance | None:
    """Whether the caller may renew: None = issue anew, else the answer that was lost.

    Raises:
        IntertieError: PERMISSION_DENIED.
    """
    if before is None or before.serial == caller.serial:
        return None
    if before.previous_serial == caller.serial and before.key_sha256 == key_sha256:
        return before
    raise _denied(f"The certificate {caller.serial} of {caller} is not its newest one.")


def issued(before: Issuance | None, after: Issuance) -> Issuance:
    """The record after another certificate; remembers which one came before."""
    assert before is None or before.subject == after.subject, "a record of another name"
    return replace(after, previous_serial=before.serial if before is not None else "")


def _denied(message: str) -> IntertieError:
    return error(
        Reason.PERMISSION_DENIED,
        message,
        remedy="Join again with a new token; if you did renew, somebody else may have your key.",
    )
