"""The game of signs on a line that bounds the expected calibration error from below and above."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibrant._base.options import check_flag, shown, whole
from calibrant.errors import InvalidOptionError

EMPTY, PLUS, MINUS, SPENT = ".", "+", "-", "x"
MOST_SIGN_CELLS = 2**20
# Boards to look at grow like cells x 2^cells; so many cells take some seconds.
MOST_SOLVED_CELLS = 16
_SWAP = str.maketrans(PLUS + MINUS, MINUS + PLUS)

Pointer = Callable[[str, int], int | None]
"""(board, rounds left) -> an empty cell, or None to stop."""
Labeler = Callable[[str, int, int], str]
"""(board, cell, rounds left after this one) -> "+" or "-"."""


@dataclass(frozen=True, slots=True)
class SignGame:
    """How a game of signs went."""

    board: str
    """What is left: "+", "-", "." for an empty cell, "x" for one that cannot be used again."""
    moves: tuple[tuple[int, str], ...]
    """The cells that were pointed at, and the signs that were written."""

    @property
    def kept(self) -> int:
        """Number of signs left."""
        return signs_on(self.board)

    def __str__(self) -> str:
        return f"{self.board}  {self.kept} of {len(self.moves)} signs kept"


class SignPreservation:
    r"""Sign preservation: one player points at cells, the other writes signs and wipes some out.

    There is a row of empty cells. In each round the pointer stops, or points at an empty cell. The
    labeler writes + or - there; every - to the left of the cell and every + to its right is
    deleted. The pointer wants many signs left at the end, the labeler few.

    Cells stand for forecasts, signs for biases that a forecaster has: while nature draws outcomes
    with a chance near the cell, forecasts to the left of it can work off a negative bias and those
    to the right a positive one. What the pointer can keep bounds the expected calibration error
    from below, what the labeler can prevent bounds it from above.

    Parameters
    ----------
    cells : int
        Number of cells.
    rounds : int, optional
        Most rounds to play; by default as many as cells.
    reuse : bool, default=False
        Whether a cell whose sign was deleted is empty again (Dagan and others 2025) or cannot be
        used any more (Qiao and Valiant 2021).

    Notes
    -----
    In the papers the labeler may delete any of the signs that can be deleted; here all of them
    are, which is never worse for the labeler. Proof: let board B be board A without a sign at c.
    On B the labeler plays what is best on A, and if the pointer points at c it writes the sign
    that A still has there and deletes nothing; then both boards are equal, with a round less to
    come on B, and the pointer never gains by having fewer rounds. So less is left of B than of A.

    Proven by others and not shown here: a pointer that keeps n^b signs within n^a rounds forces an
    expected error of order T^((b+1)/(a+2)); with a = 1 and b = log2(3) - 1 this is T^0.528 (Qiao,
    Valiant 2021), and the best exponent known is 0.54389 (Dagan and others 2025). A labeler that
    leaves less than order n signs of n rounds gives a forecaster with an error below T^(2/3).
    The sizes at which this would show are far beyond any game that can be played.

    References
    ----------
    Qiao, Valiant (2021), Stronger calibration lower bounds via sidestepping, STOC. Dagan,
    Daskalakis, Fishelson, Golowich, Kleinberg, Okoroafor (2025), Breaking the T^(2/3) barrier for
    sequential calibration, STOC.

    Examples
    --------
    >>> [SignPreservation(n).value() for n in range(1, 11)]
    [1, 1, 2, 2, 2, 3, 3, 3, 3, 4]
    >>> [SignPreservation(n, reuse=True).value() for n in range(1, 9)]
    [1, 1, 2, 2, 3, 3, 4, 4]
    >>> game = SignPreservation(6)
    >>> print(game.play(game.pointer(), game.labeler()))
    ..+.++  3 of 3 signs kept
    """

    def __init__(self, cells: int, rounds: int | None = None, *, reuse: bool = False) -> None:
        self.cells = whole("cells", cells, 1, MOST_SIGN_CELLS)
        self.rounds = self.cells if rounds is None else whole("rounds", rounds, 0)
        self.reuse = check_flag("reuse", reuse)
        self._known: dict[tuple[str, int], int] = {}

    @property
    def start(self) -> str:
        """The board before the first round."""
        return EMPTY * self.cells

    def after(self, board: str, cell: int, sign: str) -> str:
        """Return the board after a sign was written and others were deleted.

        Examples
        --------
        >>> SignPreservation(5).after("-.+.+", 3, "-")
        'x.+-x'
        """
        gone = EMPTY if self.reuse else SPENT
        left, right = board[:cell], board[cell + 1 :]
        return left.replace(MINUS, gone) + sign + right.replace(PLUS, gone)

    def value(self, board: str | None = None, rounds: int | None = None) -> int:
        """Return how many signs are left when both play as well as possible.

        Parameters
        ----------
        board : str, optional
            What stands on the board; by default the start.
        rounds : int, optional
            Rounds to come; by default all.

        Returns
        -------
        int

        Notes
        -----
        By search over all boards, each looked at once; at most 16 cells.
        """
        if self.cells > MOST_SOLVED_CELLS:
            raise InvalidOptionError(
                f"the value is known up to {MOST_SOLVED_CELLS} cells", f"{self.cells} cells"
            )
        now = self.start if board is None else self._read_board(board)
        left = self.rounds if rounds is None else whole("rounds", rounds, 0)
        return self._value(now, left)

    def _value(self, board: str, left: int) -> int:
        if not self.reuse:
            board = board.replace(SPENT, "")  # neither counts nor comes back
            left = min(left, board.count(EMPTY))
        board = min(board, board[::-1].translate(_SWAP))  # mirrored, with signs swapped
        key = board, left
        if key not in self._known:
            best = signs_on(board)
            for cell in empty_cells(board) if left else ():
                kept = self._value(self.after(board, cell, PLUS), left - 1)
                if kept > best:
                    best = max(
                        best, min(kept, self._value(self.after(board, cell, MINUS), left - 1))
                    )
            self._known[key] = best
        return self._known[key]

    def pointer(self) -> Pointer:
        """Return the pointer that plays best; at most 16 cells. Of equal cells the first."""

        def best(board: str, left: int) -> int | None:
            value = self.value(board, left)
            if value == signs_on(board):
                return None
            for cell in empty_cells(board):
                kept = (self._value(self.after(board, cell, s), left - 1) for s in (PLUS, MINUS))
                if min(kept) == value:
                    return cell
            raise AssertionError("some cell has the value of the board")

        return best

    def labeler(self) -> Labeler:
        """Return the labeler that plays best; at most 16 cells. Of equal signs +."""

        def best(board: str, cell: int, left: int) -> str:
            self.value(board, left)
            kept = {s: self._value(self.after(board, cell, s), left) for s in (PLUS, MINUS)}
            return PLUS if kept[PLUS] <= kept[MINUS] else MINUS

        return best

    def play(self, pointer: Pointer, labeler: Labeler) -> SignGame:
        """Let a pointer play against a labeler.

        Parameters
        ----------
        pointer : callable
            `pointer(board, rounds_left)` returns an empty cell, or None to stop.
        labeler : callable
            `labeler(board, cell, rounds_left)` returns "+" or "-"; the rounds are those after it.

        Returns
        -------
        SignGame

        Examples
        --------
        >>> game = SignPreservation(4)
        >>> def leftmost(board, left):
        ...     return board.find(".") if "." in board else None
        >>> print(game.play(leftmost, lambda board, cell, left: "-"))
        xxx-  1 of 4 signs kept
        """
        board, moves = self.start, []
        for number in range(self.rounds):
            cell = pointer(board, self.rounds - number)
            if cell is None:
                break
            at = whole("the cell pointed at", cell, 0)
            if at >= self.cells or board[at] != EMPTY:
                raise InvalidOptionError(
                    "a pointer must point at an empty cell", f"{cell} of {board[:60]}"
                )
            sign = labeler(board, at, self.rounds - number - 1)
            if sign not in {PLUS, MINUS}:
                raise InvalidOptionError('a labeler must write "+" or "-"', shown(sign))
            board = self.after(board, at, sign)
            moves.append((at, sign))
        return SignGame(board, tuple(moves))

    def _read_board(self, board: object) -> str:
        known = EMPTY + PLUS + MINUS + ("" if self.reuse else SPENT)
        if not isinstance(board, str) or len(board) != self.cells or set(board) - set(known):
            raise InvalidOptionError(
                f"a board must be {self.cells} of {' '.join(known)}", shown(board)
            )
        return board

    def __repr__(self) -> str:
        return f"SignPreservation({self.cells}, {self.rounds}, reuse={self.reuse})"


def signs_on(board: str) -> int:
    """Count the signs on a board.

    Examples
    --------
    >>> signs_on("+.x-")
    2
    """
    return board.count(PLUS) + board.count(MINUS)


def empty_cells(board: str) -> list[int]:
    """List the cells that can be pointed at."""
    return [cell for cell, content in enumerate(board) if content == EMPTY]
