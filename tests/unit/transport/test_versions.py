"""What two peers agree on."""

import pytest

from intertie.errors import IntertieError, Reason
from intertie.transport.versions import PROTOCOL_MAX, PROTOCOL_MIN, agree, software


def test_the_highest_common_version_is_used() -> None:
    assert agree("n1", PROTOCOL_MIN, PROTOCOL_MAX + 3) == PROTOCOL_MAX


@pytest.mark.parametrize("span", [(PROTOCOL_MAX + 1, PROTOCOL_MAX + 2), (-3, PROTOCOL_MIN - 1)])
def test_peers_without_a_common_version_are_told_both_ranges(span: tuple[int, int]) -> None:
    with pytest.raises(IntertieError) as refusal:
        agree("n1", *span)
    assert refusal.value.reason is Reason.VERSION_UNSUPPORTED
    assert refusal.value.metadata["theirs"] == f"{span[0]}-{span[1]}"


def test_the_software_names_its_version() -> None:
    assert software()
