"""An authority of a test's own, and PEM files of certificates that it has signed."""

from __future__ import annotations

from pathlib import Path

import trustme


class Authority:
    """truststore: the file with its certificate."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._authority = trustme.CA()
        self.truststore = folder / "truststore.pem"
        self._authority.cert_pem.write_to_path(self.truststore)

    def keystore(self, name: str, host: str = "127.0.0.1") -> Path:
        """The file with a key and a certificate. name: the common name of its subject."""
        path = self._folder / f"{name}.pem"
        self._authority.issue_cert(host, common_name=name).private_key_and_cert_chain_pem.write_to_path(path)
        return path
