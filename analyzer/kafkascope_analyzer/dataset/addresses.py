"""Addresses with ports, as all that is shown and all that is compared has them."""


def address(ip: str | None, port: int | None) -> str | None:
    """ip:port, an IPv6 address in brackets."""
    if ip is None:
        return None
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
