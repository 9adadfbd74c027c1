"""What nodes have and regions advertise on the wire (federation.v1), and tokens."""

from intertie.api.federation.v1 import files_pb2, pool_pb2, token_pb2
from intertie.model.pool import NodeCapability, Shape, Summary
from intertie.model.task import CheckpointRef
from intertie.model.token import Epoch, Token
from intertie.wire.mapping import mapper

CAPABILITY = mapper(NodeCapability, pool_pb2.NodeCapability)
SUMMARY = mapper(Summary, pool_pb2.Summary)
SHAPE = mapper(Shape, pool_pb2.Shape)
TOKEN = mapper(Token, token_pb2.Token)
EPOCH = mapper(Epoch, token_pb2.Epoch)
CHECKPOINT = mapper(CheckpointRef, files_pb2.CheckpointRef)

capability_from_pb, capability_to_pb = CAPABILITY.from_pb, CAPABILITY.to_pb
summary_from_pb, summary_to_pb = SUMMARY.from_pb, SUMMARY.to_pb
shape_from_pb, shape_to_pb = SHAPE.from_pb, SHAPE.to_pb
token_from_pb, token_to_pb = TOKEN.from_pb, TOKEN.to_pb
epoch_from_pb, epoch_to_pb = EPOCH.from_pb, EPOCH.to_pb
checkpoint_from_pb, checkpoint_to_pb = CHECKPOINT.from_pb, CHECKPOINT.to_pb
