"""Sets of grid points as the bits of whole numbers: a thousand points cost sixteen words."""

from __future__ import annotations


def first_bit(members: int) -> int:
    """Position of the lowest bit that is set.

    Examples
    --------
    >>> first_bit(0b1010_0000)
    5
    """
    return (members & -members).bit_length() - 1
