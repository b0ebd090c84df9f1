"""Pieces of TLS captures with the secrets of their own sessions, which tshark decrypts."""

import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app

TLS = Path(__file__).parents[3] / "fixtures" / "tls"
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


def cut(out, *more):
    words = ["cut", TLS / "kafka_tls13.pcap.zst", "--packets", "1-200", "-o", out, *more]
    return CliRunner().invoke(app, [str(word) for word in words])


@needs_tshark
def test_tshark_decrypts_a_piece_that_has_its_secrets(tmp_path):
    piece = tmp_path / "piece.pcapng"
    result = cut(piece, "--with-secrets", "--tls-keylog", TLS / "kafka_tls13.keys")
    assert result.exit_code == 0, result.output
    command = ["tshark", "-r", piece, "-Y", "tls.handshake.type==20", "-T", "fields", "-e", "tcp.stream"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    raw, lines = piece.read_bytes(), (TLS / "kafka_tls13.keys").read_bytes().splitlines()
    secrets = [line.split()[2] for line in lines if not line.startswith(b"#")]
    assert 0 < sum(secret in raw for secret in secrets) < len(secrets)


def test_secrets_are_put_in_on_request_alone(tmp_path):
    assert cut(tmp_path / "a.pcapng", "--tls-keylog", TLS / "kafka_tls13.keys").exit_code == 2
    assert not (tmp_path / "a.pcapng").exists()
    assert cut(tmp_path / "b.pcapng", "--with-secrets").exit_code == 0
    assert b"TRAFFIC_SECRET" not in (tmp_path / "b.pcapng").read_bytes()
