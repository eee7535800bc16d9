"""Secrets taken out of what is printed: command lines, URIs, messages of other libraries."""

from __future__ import annotations

import re

HIDDEN = "***"
_SECRET = r"secret|passw(?:or)?d|passphrase|token|credential|signature|(?:access|account|api|private|shared)[._-]?key"
_USER = re.compile(r"(?<=://)[^/\s@?#]+@")  # s3://KEY:SECRET@bucket
_VALUE = re.compile(rf"(?i)([\w.\-]*(?:{_SECRET})[\w.\-]*|\bsig)(\s*=\s*)('[^']*'|\"[^\"]*\"|[^\s&'\"]+)")


def redacted(text: str) -> str:
    """`text` without the user part of URIs and without the values of what is named like a secret.

    s3://AKIA:abc@bucket/x?endpoint_override=host becomes s3://***@bucket/x?endpoint_override=host, and
    spark.hadoop.fs.s3a.secret.key=abc becomes spark.hadoop.fs.s3a.secret.key=***.
    """
    return _VALUE.sub(rf"\1\2{HIDDEN}", _USER.sub(f"{HIDDEN}@", text))
