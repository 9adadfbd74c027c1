"""The day of an instant, as text that compares: rules and bases expire at the end of a UTC day."""

_DAY_MS = 86_400_000


def day_of(utc_ms: int) -> str:
    """`YYYY-MM-DD` of milliseconds since 1970 (civil from days, H. Hinnant's algorithm)."""
    days = utc_ms // _DAY_MS + 719_468
    era, of_era = divmod(days, 146_097)
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return f"{year:04}-{month:02}-{day:02}"
