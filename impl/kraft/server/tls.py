"""TLS of a listener and of connections to one, from PEM files."""

from __future__ import annotations

import ssl
from pathlib import Path

from impl.kraft.config.security import TlsSettings
from impl.runtime.properties import ConfigError

_DEMANDED = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _own_certificate(context, settings)
    if settings.client_auth != "none":
        _authorities(context, settings)
        context.verify_mode = _DEMANDED[settings.client_auth]
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = settings.checks_host
    _authorities(context, settings)
    if settings.keystore is not None:
        _own_certificate(context, settings)
    return context


def _own_certificate(context: ssl.SSLContext, settings: TlsSettings) -> None:
    assert settings.keystore is not None, "a configuration that serves TLS has one"
    path = _existing("ssl.keystore.location", settings.keystore)
    try:
        context.load_cert_chain(path, password=settings.key_password or "")
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or error.strerror or "no PEM of a key and its certificates"
        raise ConfigError(
            f"ssl.keystore.location={path}: not read ({reason}); a PEM file with a private key and its certificates is "
            "expected, and ssl.key.password where the key has one"
        ) from None


def _authorities(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.truststore is None:
        context.load_default_certs()
        return
    path = _existing("ssl.truststore.location", settings.truststore)
    try:
        context.load_verify_locations(path)
    except (OSError, ssl.SSLError):
        raise ConfigError(f"ssl.truststore.location={path}: a PEM file with certificates is expected") from None


def _existing(key: str, path: str) -> str:
    if not Path(path).is_file():
        raise ConfigError(f"{key}={path}: there is no such file")
    return path
