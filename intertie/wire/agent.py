"""Messages between an agent and its region on the wire (agent.v1, AgentLinkService)."""

from intertie.api.agent.v1 import link_pb2
from intertie.model.agentlink import (
    AckRun,
    AckUsage,
    AgentBytes,
    AgentHello,
    AgentLease,
    AgentRead,
    AgentRunUpdate,
    AgentWelcome,
    Beat,
    CheckpointOffer,
    CheckpointVerdict,
    FromAgent,
    FromRegionToAgent,
    StartRun,
    StopRun,
    UsageSample,
)
from intertie.wire.oneof import OneOf

FROM_AGENT: OneOf[FromAgent, link_pb2.AgentMessage] = OneOf(
    link_pb2.AgentMessage,
    {
        "hello": AgentHello,
        "beat": Beat,
        "run_update": AgentRunUpdate,
        "usage_sample": UsageSample,
        "checkpoint_offer": CheckpointOffer,
        "byte_chunk": AgentBytes,
    },
)
FROM_SCHEDULER: OneOf[FromRegionToAgent, link_pb2.SchedulerMessage] = OneOf(
    link_pb2.SchedulerMessage,
    {
        "welcome": AgentWelcome,
        "lease": AgentLease,
        "start_run": StartRun,
        "stop_run": StopRun,
        "ack_run": AckRun,
        "ack_usage": AckUsage,
        "checkpoint_verdict": CheckpointVerdict,
        "read": AgentRead,
    },
)

agent_message_to_pb, agent_message_from_pb = FROM_AGENT.to_pb, FROM_AGENT.from_pb
scheduler_message_to_pb = FROM_SCHEDULER.to_pb
scheduler_message_from_pb = FROM_SCHEDULER.from_pb
