"""The links of regions that stand now, and where messages to each are put.

A region that does not take what it is sent loses its link, and digests repair what was lost. Must
not know what the messages mean.
"""

from intertie.api.federation.v1 import link_pb2
from intertie.errors import IntertieError, Reason, error
from intertie.model.link import Beacon, Beacons, FederationHello, FromFederation, RegionHello
from intertie.transport.outbox import Outbox
from intertie.wire.link import federation_message_to_pb


class Link:
    """One stream: its number tells it from earlier ones of the region."""

    def __init__(self, number: int, hello: RegionHello) -> None:
        self.number = number
        self.hello = hello
        self.is_welcomed = False
        self.outbox: Outbox[link_pb2.FederationMessage] = Outbox()

    def send(self, message: FromFederation) -> bool:
        """Queue a message; lost if the link is closed. False before the welcome: it comes first."""
        if isinstance(message, FederationHello):
            self.is_welcomed = True
        if self.is_welcomed:
            self.outbox.put(federation_message_to_pb(message))
        return self.is_welcomed


class Links:
    """The present link of each region."""

    def __init__(self) -> None:
        self._by_region: dict[str, Link] = {}
        self._count = 0
        self._beacons = Beacons(beacons=())

    def open(self, hello: RegionHello) -> Link:
        """Take a new link. One of the same incarnation replaces the earlier one.

        Raises:
            IntertieError: SESSION_TAKEN; another incarnation of the region is attached.
        """
        before = self._by_region.get(hello.region)
        if before is not None and before.hello.incarnation != hello.incarnation:
            raise error(
                Reason.SESSION_TAKEN,
                f"Another process is attached as {hello.region} "
                f"(incarnation {before.hello.incarnation[:60]}).",
                remedy="Stop one of them; a process that died is forgotten within seconds.",
                metadata={"region": hello.region},
            )
        if before is not None:
            before.outbox.close(
                error(Reason.SESSION_TAKEN, f"{hello.region} attached again by another stream.")
            )
        self._count += 1
        link = self._by_region[hello.region] = Link(self._count, hello)
        return link

    def forget(self, link: Link) -> None:
        """A stream has ended."""
        link.outbox.close()
        if self._by_region.get(link.hello.region) is link:
            del self._by_region[link.hello.region]

    def send(self, region: str, message: FromFederation, number: int | None = None) -> bool:
        """Queue a message by the link of this number, or by whatever link the region has.

        False if there is no such link: what was meant for an earlier one must not leave on the
        next, where it would overtake the welcome.
        """
        link = self._by_region.get(region)
        if link is None or number not in (None, link.number):
            return False
        return link.send(message)

    def tell_all(self, feature: str, message: FromFederation) -> None:
        """Queue a message to every region that speaks a feature."""
        for link in self._by_region.values():
            if feature in link.hello.features:
                link.send(message)

    def tell_beacons(self, feature: str, joined: Link | None = None) -> None:
        """Tell who speaks the feature where beacons are, if that changed, and who has joined."""
        links = [link for link in self._by_region.values() if link.is_welcomed]
        named = [Beacon(region=r.region, address=r.beacon) for r in (n.hello for n in links)]
        before, self._beacons = self._beacons, Beacons(beacons=tuple(b for b in named if b.address))
        if set(before.beacons) != set(self._beacons.beacons):
            self.tell_all(feature, self._beacons)
        elif joined is not None and feature in joined.hello.features:
            joined.send(self._beacons)

    def close(self, region: str, reason: IntertieError) -> None:
        """End the stream of one region, if it has one."""
        link = self._by_region.get(region)
        if link is not None:
            link.outbox.close(reason)

    def close_all(self, reason: IntertieError) -> None:
        """End every stream."""
        for link in list(self._by_region.values()):
            link.outbox.close(reason)

    def __len__(self) -> int:
        return len(self._by_region)
