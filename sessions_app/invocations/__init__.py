"""The life of an invocation: claimed, run under a lease, ended; also when its process is stopped or gone."""
