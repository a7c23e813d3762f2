"""Verifies webhooks of the Loyalty Card Issuing Service, with the standard library only."""

import hashlib
import hmac
import json
import re
import time


# #region verify
class Rejected(Exception):
    """The text is the reason: log it, and do not send it in the response."""


def verify(body, header, secrets, now=None, tolerance=300):
    """Returns the event. The body and the secrets are bytes."""
    if not secrets or not all(secrets):
        raise ValueError("The signing secret is empty.")
    if not header:
        raise Rejected("missing-signature")
    pairs = [part.lstrip(" \t").partition("=") for part in header.split(",")]
    times = [value for name, _, value in pairs if name == "t"]
    signatures = [value for name, _, value in pairs if name == "v1"]
    is_well_formed = (
        len(header) <= 1024
        and all(name and equals for name, equals, _ in pairs)
        and len(times) == 1 and re.fullmatch("[0-9]{1,12}", times[0])
        and 1 <= len(signatures) <= 5
        and all(re.fullmatch("[0-9a-fA-F]{64}", one) for one in signatures)
    )
    if not is_well_formed:
        raise Rejected("malformed-signature")
    age = int(time.time() if now is None else now) - int(times[0])
    if abs(age) > tolerance:
        raise Rejected("stale" if age > 0 else "future")
    signed = times[0].encode() + b"." + body
    matches = 0  # all are compared, so that the time does not depend on which one matches
    for secret in secrets:
        expected = hmac.new(secret, signed, hashlib.sha256).hexdigest()
        for signature in signatures:
            matches += hmac.compare_digest(expected, signature.lower())
    if matches == 0:
        raise Rejected("mismatch")
    return read_event(body)
# #endregion


# #region event
def read_event(body):
    """Returns the event of a verified body."""
    try:
        # int("NaN") raises: NaN is not JSON.
        event = json.loads(body.decode("utf-8-sig"), parse_constant=int)
        texts = [event[name] for name in ("id", "type", "createdAt")]
        utf16 = [text.encode("utf-16-le") for text in texts]  # raises for half a pair
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Rejected("invalid-payload") from None
    has_nul = any("\0" in text for text in texts)
    if has_nul or not 1 <= len(utf16[0]) // 2 <= 512:
        raise Rejected("invalid-payload")
    return event
# #endregion
