import re

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def seconds(text):
    """Return the number of seconds in a text such as "1h30m"."""
    parts = re.findall(r"(\d+)([dhms])", text)
    if not parts:
        raise ValueError(f"invalid duration {text!r}")
    return sum(int(number) * UNITS[unit] for number, unit in parts)
