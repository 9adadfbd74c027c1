"""Membership in etcd: who lives, who may try to own what, and small shared facts.

`client.EtcdClient` is the real thing, `memory.MemoryEtcd` the same rules without a server; both are
a `port.Membership`, and one contract suite runs over both. `registration` and `claims` work on
either. Never holds tasks, usage, policy bodies or epochs (docs: architecture).
"""
