"""The program that the official suite starts for each scenario: it hands it on, and says what came of it.

`python -S conformance_call.py SOCKET URL`; see `conformance_client.py`, which listens there.
"""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    env = {name: value for name, value in os.environ.items() if name.startswith("MCP_CONFORMANCE_")}
    connection.sendall(json.dumps({"arguments": sys.argv[2:], "env": env}).encode() + b"\n")
    with connection.makefile("r") as answer:
        said, _, code = answer.read().rstrip("\n").rpartition("\n")
print(said)
sys.exit(int(code))
