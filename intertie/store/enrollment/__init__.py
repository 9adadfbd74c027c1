"""Where tokens, join requests and issued identities are kept, and how they change: by
compare-and-swap, in etcd or, where there is none, in the service's own store.
"""
