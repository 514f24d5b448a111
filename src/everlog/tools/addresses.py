"""Which addresses a fetch may connect to: public ones, and those that the user has named."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass, field

import msgspec

from everlog.kernel import Config
from everlog.tools.seam import ToolFailure

TABLE = "web"
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class WebSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[web]` table: `allow` names hosts (`host` or `host:port`) that may be private."""

    allow: tuple[str, ...] = ()


def web_settings(config: Config) -> WebSettings:
    """Read the table, of the user's own files only. Raises ConfigError."""
    return config.own.section(WebSettings, TABLE)


@dataclass(frozen=True)
class WebAccess:
    """The service: tells where a fetch may connect to."""

    settings: WebSettings = field(default_factory=WebSettings)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Give the addresses of a host, all of which may be connected to.

        The caller connects to one of these and not to the name, which might lead elsewhere by then.

        Raises:
            ToolFailure: the name cannot be resolved, or leads to an address that is not public.
        """
        found = await _resolved(host, port)
        if host in self.settings.allow or f"{host}:{port}" in self.settings.allow:
            return found
        for address in found:
            if not is_public(address):
                text = f"{host} leads to {address}, which is no public address; the user can allow it in [web] allow."
                raise ToolFailure(text, code="ADDRESS_NOT_ALLOWED")
        return found


async def _resolved(host: str, port: int) -> list[str]:
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolFailure(f"The host {host} cannot be found: {error}", code="HOST_NOT_FOUND") from None
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the open internet; one within another is looked at, too."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return ip.is_global and not ip.is_multicast
