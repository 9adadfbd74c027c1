"""`intertie dev`: a whole federation on this machine, with real etcd and real mTLS."""
