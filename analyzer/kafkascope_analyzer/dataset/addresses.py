"""Formats addresses with ports, in the one form in which they are shown and compared."""


def address(ip: str | None, port: int | None) -> str | None:
    """Returns ip:port, with an IPv6 address in brackets."""
    if ip is None:
        return None
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
