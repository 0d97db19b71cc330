"""A sum of Laplace kernels that takes new terms and finds a zero, both in O(log n).

The sum is h(x) = sum of c_i exp(-|x - p_i|), kept in a tree over dyadic intervals of [0, 1]: a
node knows the sums of c exp(p) and of c exp(-p) over its interval, and an interval with one point
is a leaf. Left of x a term is c exp(p) exp(-x), right of x it is c exp(-p) exp(x), so walking down
the tree gives the sign of h at every midpoint passed. Shape and sums follow from the points alone,
not from the order in which they came: a tree built again from its points is the same, bit for bit.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

from calibrant._base.stored import numbers
from calibrant.errors import InvalidStateError

# A node is [sum of c exp(p), sum of c exp(-p), left, right, exp(2 x midpoint)],
# a leaf is [c exp(p), c exp(-p), point, c]; an empty interval is None.
Node = list[Any]
_RISING, _FALLING, _LEFT, _RIGHT, _TURN = range(5)
_POINT, _TERM = 2, 3


class LaplaceTree:
    """The terms of the sum, ready to be asked for a zero.

    Examples
    --------
    >>> tree = LaplaceTree()
    >>> tree.add(0.25, 1.0)
    >>> tree.add(0.75, -1.0)
    >>> tree.value(0.0) > 0 > tree.value(1.0)
    True
    >>> tree.zero()
    0.5
    """

    def __init__(self, points: list[float] | None = None, terms: list[float] | None = None) -> None:
        self._root: Node | None = None
        for point, term in zip(points or [], terms or [], strict=True):
            self.add(point, term)

    @classmethod
    def from_stored(cls, terms: object) -> LaplaceTree:
        """Make a tree from what `terms` gave and JSON kept; nodes end only for points in [0, 1]."""
        if not isinstance(terms, list) or len(terms) != 2:
            raise InvalidStateError("stored terms must be points and coefficients")
        points = numbers(terms[0], "points of stored terms", 0.0, 1.0)
        if not bool((points[1:] > points[:-1]).all()):
            raise InvalidStateError("points of stored terms must increase")
        values = numbers(terms[1], "coefficients of stored terms", shape=points.shape)
        return cls(points.tolist(), values.tolist())

    def __reduce__(self) -> tuple[type[LaplaceTree], tuple[list[float], list[float]]]:
        return LaplaceTree, self.terms()

    def terms(self) -> tuple[list[float], list[float]]:
        """Points in ascending order, and the coefficient of each."""
        points, terms, waiting = [], [], [self._root]
        while waiting:
            node = waiting.pop()
            if node is not None and len(node) == 4:
                points.append(node[_POINT])
                terms.append(node[_TERM])
            elif node is not None:
                waiting += [node[_RIGHT], node[_LEFT]]
        return points, terms

    def value(self, at: float) -> float:
        """Return the sum itself, term by term; for checks."""
        return sum(c * exp(-abs(at - p)) for p, c in zip(*self.terms(), strict=True))

    def add(self, point: float, term: float) -> None:
        """Add a term; terms at the same point add up."""
        low, high = 0.0, 1.0
        path: list[tuple[Node, int]] = []
        node = self._root
        while node is not None and len(node) == 5:
            middle = (low + high) / 2
            side = _RIGHT if point >= middle else _LEFT
            low, high = (middle, high) if side == _RIGHT else (low, middle)
            path.append((node, side))
            node = node[side]
        if node is None:
            fresh = _leaf(point, term)
        elif node[_POINT] == point:
            fresh = _leaf(point, node[_TERM] + term)
        else:
            fresh = _split(node, _leaf(point, term), low, high)
        for above, side in reversed(path):
            above[side] = fresh
            _add_up(above)
            fresh = above
        self._root = fresh

    def zero(self) -> float:
        """Find where the sum is zero; 0 if it starts at or below zero, 1 if it ends above."""
        node = self._root
        if node is None or node[_FALLING] <= 0:
            return 0.0
        if node[_RISING] >= 0:
            return 1.0
        # The sum is positive at low and not positive at high; rising (falling) collects the
        # terms left of low (right of high).
        low, high, rising, falling = 0.0, 1.0, 0.0, 0.0
        while node is not None and len(node) == 5:
            left, right = node[_LEFT], node[_RIGHT]
            before = rising if left is None else rising + left[_RISING]
            after = falling if right is None else falling + right[_FALLING]
            if before + after * node[_TURN] > 0:
                low, rising, node = (low + high) / 2, before, right
            else:
                high, falling, node = (low + high) / 2, after, left
        if node is not None:
            point = node[_POINT]
            if rising * exp(-point) + falling * exp(point) + node[_TERM] > 0:
                low, rising = point, rising + node[_RISING]
            else:
                high, falling = point, falling + node[_FALLING]
        if not rising > 0 > falling:  # only rounding is left of the sum
            return low
        return min(max(log(-rising / falling) / 2, low), high)


def _leaf(point: float, term: float) -> Node:
    return [term * exp(point), term * exp(-point), point, term]


def _add_up(node: Node) -> None:
    left, right = node[_LEFT], node[_RIGHT]
    if left is None:
        node[_RISING], node[_FALLING] = right[_RISING], right[_FALLING]
    elif right is None:
        node[_RISING], node[_FALLING] = left[_RISING], left[_FALLING]
    else:
        node[_RISING] = left[_RISING] + right[_RISING]
        node[_FALLING] = left[_FALLING] + right[_FALLING]


def _split(first: Node, second: Node, low: float, high: float) -> Node:
    """Hang two leaves of one interval below as many nodes as it takes to tell them apart."""
    turns = []
    while True:
        middle = (low + high) / 2
        on_right = first[_POINT] >= middle, second[_POINT] >= middle
        turns.append((exp(2 * middle), on_right[0]))
        if on_right[0] != on_right[1]:
            break
        low, high = (middle, high) if on_right[0] else (low, middle)
    below: Node | None = None
    pair: list[Node | None]
    for turn, right in reversed(turns):
        if below is None:
            pair = [second, first] if right else [first, second]
        else:
            pair = [None, below] if right else [below, None]
        below = [0.0, 0.0, *pair, turn]
        _add_up(below)
    return below  # type: ignore[return-value]  # there is at least one turn
