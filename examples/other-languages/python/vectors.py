"""Prints the verdict and the reason for each signature vector: python3 vectors.py signatures.json"""

import json
import sys
from base64 import b64decode

from loyalty_webhook import Rejected, verify

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
if document["version"] != 1:
    sys.exit("This program reads version 1 of the vectors.")
for vector in document["vectors"]:
    try:
        verify(
            b64decode(vector["body"]),
            ", ".join(vector["header"]),  # as HTTP joins several lines of a header
            [b64decode(secret) for secret in vector["secrets"]],
            vector["nowSeconds"],
            vector["toleranceSeconds"],
        )
        print("valid", "-", vector["name"], sep="\t")
    except Rejected as rejected:
        print("invalid", rejected, vector["name"], sep="\t")
