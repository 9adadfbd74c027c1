"""Text that a system call or a file name can carry: no NUL bytes, and valid Unicode."""


def text_fault(text: str) -> str:
    """What is wrong with a text; empty if nothing is."""
    if "\0" in text:
        return "must not have NUL bytes"
    if not text.isascii() and not _encodes(text):
        return "must be valid Unicode text (it has half of a surrogate pair)"
    return ""


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
