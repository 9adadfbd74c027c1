"""The authorization table: which roles may call which method. Data only.

A method without a row is refused when a server is built, and a test walks all service descriptors.
What a role may touch of a resource (its own project, its own region) is in `layers.authorization`.
"""

from collections.abc import Mapping

from intertie.pki.spiffe import Role

_PEOPLE = frozenset({Role.PROJECT, Role.ADMIN})
_PROJECT = frozenset({Role.PROJECT})
_ADMIN = frozenset({Role.ADMIN})
_SCHEDULER = frozenset({Role.SCHEDULER})
_OPERATOR = frozenset({Role.OPERATOR})
_LOG_READERS = frozenset(
    {Role.BILLING, Role.ADMIN, Role.PROJECT, Role.WITNESS, Role.SCHEDULER, Role.OPERATOR}
)
_CERTIFIED = frozenset(Role) - {Role.ANONYMOUS}
_JOINING = frozenset({Role.ANONYMOUS})
"""Peers without a certificate, on a port for joining: the token in the request lets them in."""

_FEDERATION = "/intertie.api.federation.v1."
_REGIONAL = "/intertie.api.regional.v1."
_AGENT = "/intertie.api.agent.v1."
_METERING = "/intertie.api.metering.v1."

METHODS: Mapping[str, frozenset[Role]] = {
    _FEDERATION + "TaskService/CreateTask": _PROJECT,
    _FEDERATION + "TaskService/BatchCreateTasks": _PROJECT,
    _FEDERATION + "TaskService/GetTask": _PEOPLE,
    _FEDERATION + "TaskService/ListTasks": _PEOPLE,
    _FEDERATION + "TaskService/CancelTask": _PEOPLE,
    _FEDERATION + "TaskService/PlanTask": _PEOPLE,
    _FEDERATION + "TaskService/ExplainTask": _PEOPLE,
    _FEDERATION + "TaskService/ListTaskEvents": _PEOPLE,
    _FEDERATION + "TaskService/WatchTasks": _PEOPLE,
    _FEDERATION + "TaskService/GetRun": _PEOPLE,
    _FEDERATION + "TaskService/ListRuns": _PEOPLE,
    _FEDERATION + "TaskService/ReadTaskLogs": _PEOPLE,
    _FEDERATION + "TaskService/ListTaskOutputs": _PEOPLE,
    _FEDERATION + "TaskService/ReadTaskOutput": _PEOPLE,
    _FEDERATION + "BlobService/UploadBlob": _PROJECT,
    _FEDERATION + "BlobService/StatBlobs": _PROJECT | _SCHEDULER,
    _FEDERATION + "BlobService/ReadBlob": _PROJECT | _SCHEDULER,
    _FEDERATION + "RegionService/GetRegion": _PEOPLE | _OPERATOR | _SCHEDULER,
    _FEDERATION + "RegionService/ListRegions": _PEOPLE | _OPERATOR | _SCHEDULER,
    _FEDERATION + "RegionService/ListRtts": _PEOPLE | _OPERATOR | _SCHEDULER,
    _FEDERATION + "RegionService/ListJoinRequests": _ADMIN,
    _FEDERATION + "RegionService/ApproveJoinRequest": _ADMIN,
    _FEDERATION + "RegionService/RejectJoinRequest": _ADMIN,
    _FEDERATION + "RegionService/CordonRegion": _ADMIN | _OPERATOR,
    _FEDERATION + "RegionService/UncordonRegion": _ADMIN | _OPERATOR,
    _FEDERATION + "RegionService/CreateDrain": _ADMIN | _OPERATOR,
    _FEDERATION + "RegionService/GetDrain": _ADMIN | _OPERATOR,
    _FEDERATION + "RegionService/ListDrains": _ADMIN | _OPERATOR,
    _FEDERATION + "RegionService/CancelDrain": _ADMIN | _OPERATOR,
    _FEDERATION + "RegionService/RemoveRegion": _ADMIN,
    _FEDERATION + "EnrollmentService/CreateJoinToken": _ADMIN,
    _FEDERATION + "EnrollmentService/RequestJoin": _JOINING,
    _FEDERATION + "EnrollmentService/GetJoin": _JOINING,
    _FEDERATION + "EnrollmentService/RenewCertificate": frozenset(
        {Role.ADMIN, Role.PROJECT, Role.BILLING, Role.WITNESS}
    ),
    _FEDERATION + "EnrollmentService/RevokeIdentity": _ADMIN,
    _FEDERATION + "EnrollmentService/ListIdentities": _ADMIN,
    _FEDERATION + "EnrollmentService/WhoAmI": _CERTIFIED,
    _FEDERATION + "PolicyService/GetPolicy": _PEOPLE | _OPERATOR | _SCHEDULER,
    _FEDERATION + "PolicyService/SetPolicy": _ADMIN,
    _FEDERATION + "PolicyService/ListPolicyVersions": _PEOPLE | _OPERATOR | _SCHEDULER,
    _FEDERATION + "PolicyService/RehearsePolicy": _ADMIN,
    _FEDERATION + "LinkService/Attach": _SCHEDULER,
    _REGIONAL + "PoolService/ListNodes": _OPERATOR,
    _REGIONAL + "PoolService/GetNode": _OPERATOR,
    _REGIONAL + "PoolService/RemoveNode": _OPERATOR,
    _REGIONAL + "PoolService/ListRuns": _OPERATOR,
    _REGIONAL + "PoolService/CreateNativeTask": _OPERATOR,
    _REGIONAL + "PoolService/EvictRun": _OPERATOR,
    _REGIONAL + "PoolService/CreateAdjustment": _OPERATOR,
    _REGIONAL + "PoolService/GetLendingPolicy": _OPERATOR,
    _REGIONAL + "PoolService/SetLendingPolicy": _OPERATOR,
    _REGIONAL + "PoolService/CreateReclaim": _OPERATOR,
    _REGIONAL + "PoolService/GetReclaim": _OPERATOR,
    _REGIONAL + "PoolService/ListReclaims": _OPERATOR,
    _REGIONAL + "PoolService/CancelReclaim": _OPERATOR,
    _REGIONAL + "EnrollmentService/CreateNodeToken": _OPERATOR,
    _REGIONAL + "EnrollmentService/ListNodeTokens": _OPERATOR,
    _REGIONAL + "EnrollmentService/RevokeNodeToken": _OPERATOR,
    _REGIONAL + "EnrollmentService/Enroll": _JOINING,
    _REGIONAL + "EnrollmentService/Renew": frozenset({Role.NODE, Role.OPERATOR}),
    _AGENT + "AgentLinkService/Attach": frozenset({Role.NODE}),
    _METERING + "MeteringService/PullEntries": _LOG_READERS,
    _METERING + "MeteringService/GetLogCheckpoint": _LOG_READERS,
    _METERING + "MeteringService/GetReceipt": _LOG_READERS,
    _METERING + "MeteringService/GetWitnessed": _SCHEDULER,
    _METERING + "MeteringService/AddLogCheckpoint": _SCHEDULER,
    _METERING + "MeteringService/PushEntries": _SCHEDULER,
    _METERING + "MeteringService/GetTrustFile": _LOG_READERS,
    _METERING + "MeteringService/GetGrants": frozenset({Role.BILLING, Role.ADMIN, Role.PROJECT}),
    _METERING + "MeteringService/GetStatement": frozenset({Role.BILLING, Role.ADMIN, Role.PROJECT}),
    "/grpc.health.v1.Health/Check": _CERTIFIED,
    "/grpc.health.v1.Health/List": _CERTIFIED,
    "/grpc.health.v1.Health/Watch": _CERTIFIED,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": _CERTIFIED,
}
