"""Sends the shards of a command to the machines of a cluster; the cluster's own scheduler does the rest."""
