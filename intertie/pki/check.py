"""The check of a peer's leaf on every call and every batch of a stream.

TLS lets through what Intertie must not: a leaf with two URI SANs, a leaf that is a CA, a
certificate that ends while its connection is open, a banned serial. X509-SVID section 4 asks for
exactly one URI SAN. Parsing costs about 100 us, so its result is kept by the PEM bytes.
"""

from functools import lru_cache

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from intertie.errors import IntertieError, Reason, error
from intertie.pki.bans import Bans
from intertie.pki.identity import Identity
from intertie.pki.profile import BACKDATE_MS, MAX_SKEW_MS, MINUTE_MS
from intertie.pki.spiffe import parse
from intertie.ports import Now

CACHED_LEAVES = 4096
_REISSUE = "Issue the certificate again (intertie ca issue), or join again."


class PeerCheck:
    """Turns the PEM of a peer's leaf into an identity that may act now.

    Args:
        federation: the federation's trust domain.
        bans: the ban list.
    """

    def __init__(self, federation: str, bans: Bans) -> None:
        self.federation = federation
        self.bans = bans
        self._read = lru_cache(maxsize=CACHED_LEAVES)(self._read_or_problem)

    def __call__(self, leaf_pem: bytes, now: Now) -> Identity:
        """Read and check a leaf.

        Raises:
            IntertieError: IDENTITY_INVALID, CERTIFICATE_EXPIRED, CLOCK_SKEW or BANNED.
        """
        result = self._read(leaf_pem)
        if isinstance(result, tuple):
            raise error(Reason.IDENTITY_INVALID, result[0], remedy=result[1])
        self.still_good(result, now)
        return result

    def still_good(self, identity: Identity, now: Now) -> None:
        """Check again what time and the ban list may have changed; about 1 us."""
        if now.utc_ms >= identity.not_after_ms:
            raise error(
                Reason.CERTIFICATE_EXPIRED,
                f"The certificate of {identity} expired "
                f"{(now.utc_ms - identity.not_after_ms) // 1000} s ago.",
                remedy="Renew it; check the clocks of both machines if it was renewed.",
            )
        if identity.not_before_ms + BACKDATE_MS - now.utc_ms > MAX_SKEW_MS:
            ahead_ms = identity.not_before_ms + BACKDATE_MS - now.utc_ms
            raise skewed(ahead_ms, f"The certificate of {identity} was issued by a clock")
        if self.bans.covers(identity):
            raise error(
                Reason.BANNED,
                f"{identity} (serial {identity.serial}) is banned.",
                remedy="Ask an administrator of the federation.",
            )

    def _read_or_problem(self, leaf_pem: bytes) -> Identity | tuple[str, str]:
        # A problem is kept too: a peer that retries with a bad leaf must not cost a parse a try.
        try:
            return read_leaf(leaf_pem, self.federation)
        except IntertieError as problem:
            return problem.message, problem.remedy


def skewed(ahead_ms: int, what: str) -> IntertieError:
    """CLOCK_SKEW: the other clock is `ahead_ms` ahead of ours (behind if negative)."""
    side = "ahead of" if ahead_ms > 0 else "behind"
    return error(
        Reason.CLOCK_SKEW,
        f"{what} {abs(ahead_ms) / MINUTE_MS:.1f} minutes {side} this one; "
        f"{MAX_SKEW_MS // MINUTE_MS} are allowed.",
        remedy="Synchronise both clocks (NTP).",
        metadata={"skew_ms": str(ahead_ms)},
    )


def read_leaf(leaf_pem: bytes, federation: str) -> Identity:
    """Read the identity from a leaf, without regard to time or bans.

    Raises:
        IntertieError: IDENTITY_INVALID naming the rule that the leaf breaks.
    """
    try:
        leaf = x509.load_pem_x509_certificate(leaf_pem)
        extensions = leaf.extensions
    except (ValueError, x509.DuplicateExtension) as problem:
        raise _invalid("The certificate cannot be parsed.") from problem
    _check_is_leaf(extensions)
    uris = _uris(extensions)
    if len(uris) != 1:
        raise _invalid(f"The certificate has {len(uris)} URI names; exactly one is allowed.")
    return Identity.of(
        parse(uris[0], federation),
        serial=f"{leaf.serial_number:x}",
        not_before_ms=int(leaf.not_valid_before_utc.timestamp()) * 1000,
        not_after_ms=int(leaf.not_valid_after_utc.timestamp()) * 1000,
    )


def _uris(extensions: x509.Extensions) -> list[str]:
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.UniformResourceIdentifier)


def _check_is_leaf(extensions: x509.Extensions) -> None:
    try:
        constraints = extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = extensions.get_extension_for_class(x509.KeyUsage).value
        purposes = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound as problem:
        raise _invalid(
            f"The certificate lacks the extension {problem.oid.dotted_string}."
        ) from problem
    if constraints.ca or usage.key_cert_sign or usage.crl_sign:
        raise _invalid("The certificate is a CA; only leaves are identities.")
    if not usage.digital_signature:
        raise _invalid("The certificate's key usage lacks digitalSignature.")
    if ExtendedKeyUsageOID.CLIENT_AUTH not in purposes:
        raise _invalid("The certificate's extended key usage lacks clientAuth.")


def _invalid(message: str) -> IntertieError:
    return error(Reason.IDENTITY_INVALID, message, remedy=_REISSUE)
