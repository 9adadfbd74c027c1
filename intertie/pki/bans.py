"""The ban list: serials and IDs that are refused from now on. In memory; etcd carries it.

gRPC knows no revocation lists, so this is the only revocation there is. Listeners are told of each
addition, so that open streams can be cut at once.
"""

from collections.abc import Callable, Iterable

from intertie.pki.identity import Identity

Listener = Callable[[], None]


class Bans:
    """What is banned now. To be used from one thread."""

    def __init__(self) -> None:
        self._serials: frozenset[str] = frozenset()
        self._ids: frozenset[str] = frozenset()
        self._listeners: list[Listener] = []

    @property
    def serials(self) -> frozenset[str]:
        """Banned serials as lower-case hex without leading zeros."""
        return self._serials

    @property
    def ids(self) -> frozenset[str]:
        """Banned SPIFFE IDs."""
        return self._ids

    def covers(self, identity: Identity) -> bool:
        """True if the identity may not act."""
        if not self._serials and not self._ids:
            return False
        return identity.serial in self._serials or str(identity) in self._ids

    def ban(self, *, serials: Iterable[str] = (), ids: Iterable[str] = ()) -> None:
        """Add to the list."""
        self.replace(self._serials.union(serials), self._ids.union(ids))

    def replace(self, serials: Iterable[str], ids: Iterable[str]) -> None:
        """Take over the whole list, as a watch of etcd delivers it."""
        self._serials = frozenset(serial.lower().lstrip("0") for serial in serials)
        self._ids = frozenset(ids)
        for listener in tuple(self._listeners):
            listener()

    def listen(self, listener: Listener) -> None:
        """Call `listener` after each change."""
        self._listeners.append(listener)

    def forget(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        self._listeners.remove(listener)
