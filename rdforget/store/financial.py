"""Financial details: numbers of cards by brand and check digit, IBANs by checksum, and numbers that are named.

Prices, years, phone numbers, order numbers and the last four digits of a card are ordinary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rdforget.store.patterns import rules

_LEAST_NAMED, _LEAST_DIGITS = 3, 12
"""Digits of a text that may hold a named number, and one that is found by its digits alone."""
_CARD_DIGITS = (14, 19)
_DIGIT = re.compile(r"\d")
_DIGIT_RUN = re.compile(r"\d+")
_GROUPS = re.compile(r"(?<![\d+])\d+(?:[ .,_/\n-]{1,3}\d+)*")
_BRANDS = re.compile(
    r"4\d{15}(?:\d{3})?|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|(?:6011|65\d\d|64[4-9]\d|352[89]|35[3-8]\d)\d{12}|62\d{14}(?:\d{2,3})?"
    r"|(?:50|5[678]|63|67)\d{14}(?:\d{2,3})?"
)
"""Visa, Mastercard, American Express, Diners, Discover and JCB, UnionPay, Maestro (ISO/IEC 7812 issuer ranges)."""
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ .-]?[A-Za-z0-9]){11,60}")
_SEPARATOR = re.compile("[ .-]")
_IBAN_LENGTHS = {
    part[:2]: int(part[2:])
    for part in re.findall(
        r"\w+",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
        "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 "
        "LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 "
        "PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 "
        "YE30",
    )
}
"""Characters of an IBAN by country (ISO 13616 registry)."""
_NAMED = rules("financial")


def financial_rule(text: str, low: str) -> str | None:
    """The rule that finds a financial detail in a plain text; `low` is the text in lower case."""
    digits = len(_DIGIT.findall(text))
    if digits >= _LEAST_DIGITS:
        if _has_card(text):
            return "card number"
        if any(map(_is_iban, _IBAN.finditer(text))):
            return "IBAN"
    return next((rule.name for rule in _NAMED if rule.matches(low)), None) if digits >= _LEAST_NAMED else None


def _has_card(text: str) -> bool:
    """Whether a card's number is there, whole or in groups, also where other numbers stand beside it."""
    least, most = _CARD_DIGITS
    for run in _GROUPS.finditer(text):
        groups = _DIGIT_RUN.findall(run[0])
        for start in range(len(groups)):
            number = ""
            for end in range(start, len(groups)):
                number += groups[end]
                if len(number) > most:
                    break
                if len(number) >= least and _is_card(number) and _is_grouping(groups[start : end + 1]):
                    return True
    return False


def _is_grouping(groups: Sequence[str]) -> bool:
    """Whether people write one number so, and not several: in fours or the like, in pairs, or digit by digit."""
    sizes = [len(group) for group in groups]
    return min(sizes[:-1], default=4) >= 3 or max(sizes) == min(sizes[:-1])


def _is_card(number: str) -> bool:
    if not _BRANDS.fullmatch(number):
        return False
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(number))]
    return len(set(number)) > 1 and sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


def _is_iban(found: re.Match[str]) -> bool:
    """Whether the characters begin with an IBAN, in one piece or in fours."""
    length = _IBAN_LENGTHS.get(found[0][:2].upper(), 0)
    number = ""
    for group in _SEPARATOR.split(found[0]):
        if number and len(number) % 4:
            return False
        number += group.upper()
        if len(number) >= length:
            break
    if len(number) != length:
        return False
    return int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1
