"""Stand-ins for what names a site: NIDs and addresses, host names, UUIDs, file systems, job ids.

The same name gets the same stand-in in every file, different names get different ones, and no stand-in is a name that occurs. A NID keeps
its net, an address its shape and mostly its width, so that tables stay tables. Which stand-in a name gets is random.
"""

import ipaddress
import random
import re
import secrets
import string
from collections.abc import Callable, Iterable, Mapping

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_PART = r"(?:[0-9]{1,3}|\*|\[[0-9,/*-]{1,60}\])"
_PATTERNS = {
    "uuid": r"(?<![0-9a-fA-F-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F])",
    "job": r"(?m:(?<=job_id:)[ \t]+\S[^\n]*)",
    "range": rf"(?<![0-9.*\]])(?={_PART}(?:\.{_PART}){{3}})(?=[0-9.]*[*\[])(?:{_PART}\.){{3}}{_PART}",
    "ipv4": rf"(?<![0-9])(?<![0-9]\.)(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9])(?!\.[0-9])",
    "colons": r"(?<![0-9a-zA-Z:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,8}(?![0-9a-zA-Z:])",
    "number": r"(?<![0-9A-Za-z_.:])[0-9]{1,10}(?=@[a-z][a-z0-9]*)(?!@lo\b)",
    "target": r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{1,8}(?=-(?:OST|MDT)(?:[0-9a-f]{4}|all)|-client\b)",
    "pointer": r"(?<=-)f{4}[0-9a-f]{12}(?![0-9a-f])",
}
_WORDS_ONLY = "host"
_PLAIN_ADDRESSES = frozenset({"0.0.0.0", "127.0.0.1", "255.255.255.255", "::1", "::"})  # noqa: S104 (nothing is bound)
_MAC_LIKE = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}|[0-9a-f]{4}(?::[0-9a-f]{4}){3}(?:(?::[0-9a-f]{4}){4})?", re.IGNORECASE)
_ALIKE_MAX = 50  # random draws of the same shape, before a longer one is taken
_HEX = re.compile(r"[0-9a-fA-F]")
_TRIM = 3  # an address may stand inside a longer one, less up to two digits at either end


class Names:
    """First learn() from every text and add() what is known, then settle(), then replaced()."""

    def __init__(self, choice: random.Random | None = None) -> None:
        self._random = choice or secrets.SystemRandom()
        self._found: dict[tuple[str, str], str] = {}  # (kind, original) -> stand-in
        self._stand_ins: set[str] = set()
        self._pattern = self._hosts_pattern = re.compile("(?!)")

    def add_host(self, name: str) -> None:
        """Take a host name, whole and without its domain; what is an address is found as one."""
        name = name.strip().strip("[]").lower()
        if not re.fullmatch(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", name) or name.isdigit() or _is_address(name) or name == "localhost":
            return
        for each in dict.fromkeys((name, name.split(".")[0])):
            self._found.setdefault((_WORDS_ONLY, each), "")

    def learn(self, text: str) -> None:
        """Take all names that a text holds, but for host names, which look like any word."""
        for found in _LEARNING.finditer(text):
            kind = found.lastgroup or ""
            if _is_name(kind, found[0]):
                self._found.setdefault((kind, _key(kind, found[0])), "")

    def settle(self) -> None:
        """Give every name its stand-in."""
        originals = {name for _, name in self._found}
        for number, (kind, name) in enumerate(sorted(self._found), 1):
            if not self._found[kind, name]:
                self._found[kind, name] = self._new(kind, name, number, originals)
        hosts = sorted((name for kind, name in self._found if kind == _WORDS_ONLY), key=len, reverse=True)
        if hosts:
            words = "|".join(map(re.escape, hosts))
            self._hosts_pattern = re.compile(rf"(?i:(?<![A-Za-z0-9])(?P<host>{words})(?![A-Za-z0-9]))")

    def replaced(self, text: str, *, hosts_only: bool = False) -> str:
        """Return the text with stand-ins for names. `hosts_only`: for texts whose version numbers look like addresses."""
        if not hosts_only:
            text = _REPLACING.sub(self._stand_in, text)
        return self._hosts_pattern.sub(lambda found: self._found[_WORDS_ONLY, found[0].lower()], text)

    def left_in(self, text: str) -> list[str]:
        """Return the names that a text still holds: none, once it was replaced."""
        left = [found[0] for found in _LEARNING.finditer(text) if (found.lastgroup, _key(found.lastgroup or "", found[0])) in self._found]
        return left + [found[0] for found in self._hosts_pattern.finditer(text)]

    @property
    def mapping(self) -> Mapping[tuple[str, str], str]:
        """The stand-in of each (kind, name)."""
        return self._found

    def _stand_in(self, found: re.Match[str]) -> str:
        kind = next(each for each in _PATTERNS if found[each] is not None)
        name, pad = found[kind], found["pad"]
        new = self._found.get((kind, _key(kind, name)))
        if new is None or not _is_name(kind, name):
            return found[0]
        if len(new) > len(name) and len(pad) > 1:  # the columns behind it stay in line
            pad = pad[: max(1, len(pad) - (len(new) - len(name)))]
        return (" " + new if kind == "job" else new) + pad

    def _new(self, kind: str, name: str, number: int, originals: set[str]) -> str:
        make: dict[str, Callable[[str, int], str]] = {
            "ipv4": self._ipv4,
            "number": self._number,
            "target": self._word,
            _WORDS_ONLY: lambda *_: f"host{number}",
            "job": lambda *_: f"job{number}",
            "range": lambda *_: f"addresses{number}",
        }
        for attempt in range(1000):
            new = make.get(kind, self._hex)(name, max(0, attempt - _ALIKE_MAX))
            number += len(self._found)
            if new not in self._stand_ins and not _holds(new, originals) and new.lower() != name.lower():
                self._stand_ins.add(new)
                return new
        raise RuntimeError(f"no stand-in for a {kind} of {len(name)} characters")

    def _ipv4(self, name: str, longer: int) -> str:
        bounds = {1: (0, 9), 2: (10, 99), 3: (100, 255)}
        lengths = [3 if longer else len(octet) for octet in name.split(".")]
        return ".".join(str(self._random.randint(*bounds[length])) for length in lengths)

    def _number(self, name: str, longer: int) -> str:
        digits = min(9, len(name) + (longer + 9) // 10)
        return str(self._random.randrange(10 ** (digits - 1), 10**digits))

    def _word(self, name: str, longer: int) -> str:
        return "".join(self._random.choice(string.ascii_lowercase) for _ in range(min(8, len(name) + longer // 10)))

    def _hex(self, name: str, longer: int) -> str:
        kept = 4 if re.fullmatch(r"f{4}[0-9a-f]{12}", name) else 0
        return name[:kept] + _HEX.sub(lambda _: self._random.choice("0123456789abcdef"), name[kept:] + "0" * (longer // 10))


def _alternatives(patterns: Iterable[tuple[str, str]]) -> str:
    return "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in patterns)


_LEARNING = re.compile(_alternatives(_PATTERNS.items()))
_REPLACING = re.compile(f"(?:{_alternatives(_PATTERNS.items())})(?P<pad> *)")


def _key(kind: str, name: str) -> str:
    return name.strip() if kind == "job" else name if kind in ("target", "range") else name.lower()


def _is_name(kind: str, text: str) -> bool:
    """Tell addresses from the times and version numbers that look like them."""
    if kind == "ipv4":
        return text not in _PLAIN_ADDRESSES
    if kind == "colons":
        return text not in _PLAIN_ADDRESSES and (_MAC_LIKE.fullmatch(text) is not None or _is_address(text))
    return True


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _holds(new: str, originals: set[str]) -> bool:
    """Tell whether an original stands in a stand-in: 10.0.0.1 in 110.0.0.12."""
    if new in originals:
        return True
    if "." not in new:
        return False
    return any(new[begin : len(new) - end] in originals for begin in range(_TRIM) for end in range(_TRIM))
