"""Verifies webhooks of the Loyalty Card Issuing Service, with the standard library only."""

import hmac
import json
import re
import time


class Rejected(Exception):
    """The text is the reason: log it, and do not send it in the response."""


def verify(body, header, secrets, now=None, tolerance=300):
    """Returns the event. The body and the secrets are bytes."""
    if not secrets or not all(secrets):
        raise ValueError("The signing secret is empty.")
    if not header:
        raise Rejected("missing-signature")
    parts = re.split(",[ \t]*", header)
    timestamp = ",".join(part[2:] for part in parts if part.startswith("t="))
    signatures = [part[3:].lower() for part in parts if part.startswith("v1=")]
    is_well_formed = (
        len(header) <= 1024
        and all(re.match("[^=]+=", part) for part in parts)
        and re.fullmatch("[0-9]{1,12}", timestamp)
        and re.fullmatch("[0-9a-f]{64}(,[0-9a-f]{64}){0,4}", ",".join(signatures))
    )
    if not is_well_formed:
        raise Rejected("malformed-signature")
    age = int(time.time() if now is None else now) - int(timestamp)
    if abs(age) > tolerance:
        raise Rejected("stale" if age > 0 else "future")
    signed = timestamp.encode() + b"." + body
    expected = [hmac.digest(secret, signed, "sha256").hex() for secret in secrets]
    # A list: all are compared, so that the time does not depend on which one matches.
    if not any([hmac.compare_digest(one, sent) for one in expected for sent in signatures]):
        raise Rejected("mismatch")
    return read_event(body)


def read_event(body):
    """Returns the event of a verified body."""
    try:
        # int("NaN") raises: NaN is not JSON.
        event = json.loads(body.decode("utf-8-sig"), parse_constant=int)
        texts = [event[name] for name in ("id", "type", "createdAt")]
        # Raises for half of a surrogate pair.
        lengths = [len(text.encode("utf-16-le")) // 2 for text in texts]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Rejected("invalid-payload") from None
    if "\0" in "".join(texts) or not 1 <= lengths[0] <= 512:
        raise Rejected("invalid-payload")
    return event
