"""What a join was given, checked and written: a key that never leaves, certificates, contexts.

A key is on disk before its request is sent, so an answer that was lost is asked for again with the
same key. Nothing is believed that does not come from the pinned root.
"""

from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec

from intertie.errors import IntertieError, Reason, error
from intertie.pki.authority import Authority
from intertie.pki.ca_files import CA_KEY, write_certificates
from intertie.pki.issue import Issued
from intertie.pki.join.pending import key_at
from intertie.pki.load import KEY, write_identity
from intertie.sdk.contexts import Context, RegionAccess, config_path, load_contexts
from intertie.sdk.membership.joiner import Joiner
from intertie.sdk.membership.values import Credentials, FederationAccess


def ca_key(directory: Path) -> tuple[ec.EllipticCurvePrivateKey, bool]:
    """The key of a CA directory."""
    return key_at(directory / CA_KEY)


def identity_key(directory: Path) -> tuple[ec.EllipticCurvePrivateKey, bool]:
    """The key of an identity directory."""
    return key_at(directory / KEY)


def write_leaf(
    directory: Path, key: ec.EllipticCurvePrivateKey, given: Credentials, joiner: Joiner
) -> None:
    """Check and write an identity."""
    _chain_of(given, key, joiner)
    write_identity(
        directory,
        key,
        Issued(
            cert_pem=given.cert_pem,
            chain_pem=given.chain_pem,
            trust_pem=joiner.pinned.root_pem,
            serial=given.serial,
            not_after_ms=given.expires_ms,
        ),
    )


def write_ca(
    directory: Path,
    key: ec.EllipticCurvePrivateKey,
    given: Credentials,
    joiner: Joiner,
    region: str,
) -> Authority:
    """Check and write a region's CA beside its key."""
    chain = _chain_of(given, key, joiner)
    root = x509.load_pem_x509_certificate(joiner.pinned.root_pem)
    authority = Authority(key, chain[0], tuple(chain), root, joiner.pinned.trust_domain, region)
    write_certificates(directory, authority)
    return authority


def write_context(
    name: str,
    directory: Path,
    access: FederationAccess,
    *,
    region: RegionAccess | None = None,
    project: str = "",
) -> Path:
    """Add a context for the identity in `directory` and make it the current one."""
    context = Context(
        name=name,
        endpoint=access.endpoints[0],
        identity=str(directory.absolute()),
        trust_domain=access.trust_domain,
        project=project,
        region=region,
    )
    load_contexts(missing_ok=True).with_context(context, use=True).save()
    return config_path()


def _chain_of(
    given: Credentials, key: ec.EllipticCurvePrivateKey, joiner: Joiner
) -> list[x509.Certificate]:
    """The certificate and those above it, each signed by the next, the last by the pinned root."""
    try:
        chain = x509.load_pem_x509_certificates(given.cert_pem + given.chain_pem)
        above = [*chain[1:], x509.load_pem_x509_certificate(joiner.pinned.root_pem)]
        for cert, issuer in zip(chain, above, strict=True):
            cert.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature) as problem:
        raise _unusable("does not come from the root that the token names") from problem
    if chain[0].public_key() != key.public_key():
        raise _unusable("is for another key than ours")
    return chain


def _unusable(why: str) -> IntertieError:
    return error(
        Reason.IDENTITY_INVALID,
        f"The certificate that we were given {why}.",
        remedy="Do not go on; tell whoever gave you the token.",
    )
