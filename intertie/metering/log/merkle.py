"""RFC 6962 Merkle trees as pure functions over bytes: roots, compact ranges, proofs.

Leaves are opaque. Hashes of complete subtrees come from a `NodeReader`, so that the same proofs are
made from a list in a test and from stored tiles in a region. Verification follows RFC 9162, which
states the algorithms for the same tree. Must not know where hashes are kept.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from intertie.metering.faults import Fault, MeteringError

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()
"""Root of the tree without leaves (RFC 6962, section 2.1)."""

NodeReader = Callable[[int, int], bytes]
"""(height, index) -> root of the complete subtree over leaves [index << height, +1 << height)."""


def leaf_hash(leaf: bytes) -> bytes:
    """Hash of a leaf (RFC 6962, section 2.1)."""
    return sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node (RFC 6962, section 2.1)."""
    return sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class CompactRange:
    """All that is needed to go on hashing a tree: the roots of its complete subtrees.

    `hashes` runs from the largest subtree to the smallest, one for each bit set in `size`: at most
    64 of them for any log that will ever exist.
    """

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        wanted = self.size.bit_count()
        if self.size < 0 or len(self.hashes) != wanted:
            raise _bad_proof("compact range", f"{wanted} hashes", f"{len(self.hashes)}")
        if any(len(digest) != HASH_BYTES for digest in self.hashes):
            raise _bad_proof("compact range", "hashes of 32 bytes", "another length")

    def extend(self, leaf_hashes: Iterable[bytes]) -> "CompactRange":
        """Return the range after appending leaves, given by their hashes, in order."""
        stack, size, sha = list(self.hashes), self.size, sha256
        pop, push = stack.pop, stack.append
        for digest in leaf_hashes:
            carry = size
            while carry & 1:
                digest = sha(b"\x01" + pop() + digest).digest()
                carry >>= 1
            push(digest)
            size += 1
        assert size >= self.size, "a log only grows"
        return CompactRange(size, tuple(stack))

    def absorb(self, leaves: Iterable[bytes]) -> "CompactRange":
        """Return the range after appending leaves, given by their bytes: the root pass."""
        sha = sha256
        return self.extend(sha(b"\x00" + leaf).digest() for leaf in leaves)

    def root(self) -> bytes:
        """Return the tree's root hash (RFC 6962, section 2.1)."""
        if not self.hashes:
            return EMPTY_ROOT
        root = self.hashes[-1]
        for digest in reversed(self.hashes[:-1]):
            root = node_hash(digest, root)
        assert len(root) == HASH_BYTES, "SHA-256 gives 32 bytes"
        return root


def subtree_root(node: NodeReader, begin: int, end: int) -> bytes:
    """Return MTH(D[begin:end]) where `begin` is a multiple of a power of two >= end - begin."""
    assert begin < end, "an empty subtree has no place in a proof"
    assert begin % (1 << (end - begin - 1).bit_length()) == 0, f"[{begin}, {end}) is no subtree"
    parts: list[bytes] = []
    while begin < end:
        height = (end - begin).bit_length() - 1
        parts.append(node(height, begin >> height))
        begin += 1 << height
    root = parts.pop()
    while parts:
        root = node_hash(parts.pop(), root)
    return root


def inclusion_proof(node: NodeReader, index: int, size: int) -> list[bytes]:
    """Return PATH(index, D[size]) (RFC 6962, section 2.1.1), nearest sibling first."""
    assert 0 <= index < size, f"leaf {index} is not in a tree of {size}"
    begin, end, path = 0, size, []
    while end - begin > 1:
        split = begin + _split(end - begin)
        if index < split:
            path.append(subtree_root(node, split, end))
            end = split
        else:
            path.append(subtree_root(node, begin, split))
            begin = split
    assert begin == index, "the path ends at the leaf"
    assert len(path) <= size.bit_length(), "a path is as long as the tree is high"
    path.reverse()
    return path


def consistency_proof(node: NodeReader, old: int, new: int) -> list[bytes]:
    """Return PROOF(old, D[new]) (RFC 6962, section 2.1.2); empty if old is 0 or equals new."""
    assert 0 <= old <= new, f"a tree of {new} does not extend one of {old}"
    if old in (0, new):
        return []
    begin, end, path, whole = 0, new, [], True
    while old != end:
        split = begin + _split(end - begin)
        if old <= split:
            path.append(subtree_root(node, split, end))
            end = split
        else:
            path.append(subtree_root(node, begin, split))
            begin, whole = split, False
    if not whole:
        path.append(subtree_root(node, begin, end))
    assert 0 < len(path) <= new.bit_length() + 1, "at most one hash a level, and the start"
    path.reverse()
    return path


def verify_inclusion(
    leaf: bytes, index: int, size: int, root: bytes, proof: Sequence[bytes]
) -> None:
    """Check that a leaf hash is at `index` under `root` (RFC 9162, section 2.1.3.2)."""
    assert len(leaf) == len(root) == HASH_BYTES, "hashes are read and measured before"
    if not 0 <= index < size:
        raise _bad_proof("inclusion", f"an index below {size}", str(index))
    fn, sn, digest = index, size - 1, leaf
    for sibling in proof:
        if sn == 0:
            raise _bad_proof("inclusion", "a shorter path", f"{len(proof)} hashes")
        if fn & 1 or fn == sn:
            digest = node_hash(sibling, digest)
            fn, sn = _climb(fn, sn)
        else:
            digest = node_hash(digest, sibling)
        fn, sn = fn >> 1, sn >> 1
    if sn != 0:
        raise _bad_proof("inclusion", "a longer path", f"{len(proof)} hashes")
    if digest != root:
        raise _bad_proof("inclusion", f"root {root.hex()}", digest.hex())


def verify_consistency(
    old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]
) -> None:
    """Check that one tree is a prefix of another (RFC 9162, section 2.1.4.2)."""
    assert len(old_root) == len(new_root) == HASH_BYTES, "roots are read and measured before"
    if not 0 <= old <= new:
        raise _bad_proof("consistency", f"an old size up to {new}", str(old))
    if old in (0, new):
        expected = EMPTY_ROOT if old == 0 else new_root
        if proof:
            raise _bad_proof("consistency", "an empty proof", f"{len(proof)} hashes")
        if old_root != expected:
            raise _bad_proof("consistency", f"old root {expected.hex()}", old_root.hex())
        return
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    first, second = _fold_consistency(old, new, path)
    if first != old_root:
        raise _bad_proof("consistency", f"old root {old_root.hex()}", first.hex())
    if second != new_root:
        raise _bad_proof("consistency", f"new root {new_root.hex()}", second.hex())


def _fold_consistency(old: int, new: int, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the two roots that a consistency path leads to (RFC 9162, steps 3 to 6)."""
    if not path:
        raise _bad_proof("consistency", "at least one hash", "none")
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    first = second = path[0]
    for digest in path[1:]:
        if sn == 0:
            raise _bad_proof("consistency", "a shorter proof", f"{len(path)} hashes")
        if fn & 1 or fn == sn:
            first, second = node_hash(digest, first), node_hash(digest, second)
            fn, sn = _climb(fn, sn)
        else:
            second = node_hash(second, digest)
        fn, sn = fn >> 1, sn >> 1
    if sn != 0:
        raise _bad_proof("consistency", "a longer proof", f"{len(path)} hashes")
    return first, second


def nodes_of(leaf_hashes: Sequence[bytes]) -> NodeReader:
    """Return a reader that computes subtree roots from all leaf hashes, kept in memory."""

    def node(height: int, index: int) -> bytes:
        begin = index << height
        hashes = leaf_hashes[begin : begin + (1 << height)]
        assert len(hashes) == 1 << height, f"subtree ({height}, {index}) is not complete"
        return CompactRange().extend(hashes).root()

    return node


def _split(size: int) -> int:
    """Largest power of two below `size` (RFC 6962's k)."""
    assert size > 1, "a single leaf is not split"
    return 1 << (size - 1).bit_length() - 1


def _climb(fn: int, sn: int) -> tuple[int, int]:
    """Skip the levels where a right-edge node has no sibling (RFC 9162, step "right-shift")."""
    while fn and not fn & 1:
        fn, sn = fn >> 1, sn >> 1
    return fn, sn


def _bad_proof(what: str, expected: str, got: str) -> MeteringError:
    return MeteringError(Fault.BAD_PROOF, f"{what}: expected {expected}, got {got}")
