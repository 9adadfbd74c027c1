"""Messages between a region and the federation on the wire (federation.v1, LinkService)."""

from intertie.api.federation.v1 import link_pb2
from intertie.model.link import (
    Assign,
    AssignAck,
    Beacons,
    Bytes,
    CancelRun,
    DigestRequest,
    FederationHello,
    FromFederation,
    FromRegion,
    LeaseGrant,
    LeaseRenew,
    Offer,
    OfferRelease,
    OfferRequest,
    PolicyUpdate,
    ReadBytes,
    RegionHello,
    RttReport,
    RunClosed,
    RunDigest,
    RunUpdate,
)
from intertie.model.pool import Summary
from intertie.wire.oneof import OneOf

FROM_REGION: OneOf[FromRegion, link_pb2.RegionMessage] = OneOf(
    link_pb2.RegionMessage,
    {
        "hello": RegionHello,
        "lease_renew": LeaseRenew,
        "summary": Summary,
        "offer": Offer,
        "assign_ack": AssignAck,
        "run_update": RunUpdate,
        "run_digest": RunDigest,
        "byte_chunk": Bytes,
        "rtt_report": RttReport,
    },
)
FROM_FEDERATION: OneOf[FromFederation, link_pb2.FederationMessage] = OneOf(
    link_pb2.FederationMessage,
    {
        "hello": FederationHello,
        "lease_grant": LeaseGrant,
        "offer_request": OfferRequest,
        "offer_release": OfferRelease,
        "assign": Assign,
        "cancel_run": CancelRun,
        "run_closed": RunClosed,
        "digest_request": DigestRequest,
        "read_bytes": ReadBytes,
        "policy_update": PolicyUpdate,
        "beacons": Beacons,
    },
)

region_message_to_pb, region_message_from_pb = FROM_REGION.to_pb, FROM_REGION.from_pb
federation_message_to_pb = FROM_FEDERATION.to_pb
federation_message_from_pb = FROM_FEDERATION.from_pb
