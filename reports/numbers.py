"""Numbers in words and digits: no more of them than the simulation error supports."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

NARROW_NO_BREAK_SPACE = "\u202f"
MINUS = "−"
NOTHING = "—"
CANNOT_BE_BOUGHT = "cannot be bought"
HARMFUL = "harmful"

FINEST_SHARE = 1e-3
"""Shares are printed to a tenth of a percent at best, whatever the number of draws."""

FINEST_RATIO = 1e-3

RULE_OF_THREE = 3.0
"""An event not seen in n independent draws has, with 95% confidence, a probability below 3/n."""

P10_TO_P90_SIGMA = 2.5631
"""Width between the 10th and the 90th percentile of a normal distribution, in its sigma."""

EXACT_ABOVE = 10.0
"""From this size on a fraction of an accelerator is not printed."""


def decade(error: float) -> float:
    """Power of ten of the leading digit of an error: 10 for 12, 0.1 for 0.7."""
    return float(10.0 ** math.floor(math.log10(error)))


JOINERS = "\u200c\u200d"
"""They shape the letters of some scripts and compose pictures; beside ASCII they only hide."""


def plain(text: str) -> str:
    """A text on one line, nothing in it hidden.

    Line breaks and other white space become spaces; characters that print nothing or turn the
    direction of a text are written by their code point, ``⟨U+202E⟩``.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    shown = [
        c
        if c.isprintable() or (c in JOINERS and _between_letters(text, i))
        else " "
        if c.isspace()
        else code_point(c)
        for i, c in enumerate(text)
    ]
    return " ".join("".join(shown).split())


def code_point(character: str) -> str:
    """A character by its number."""
    return f"⟨U+{ord(character):04X}⟩"


def _between_letters(text: str, index: int) -> bool:
    around = text[max(0, index - 1) : index] + text[index + 1 : index + 2]
    return len(around) == 2 and not any(c.isascii() for c in around)  # noqa: PLR2004


def spread_error(spread: Mapping[str, Any], effective: float) -> float:
    """Error that decides the digits of a spread: (P90 − P10)/(2.56·√ESS)."""
    if spread["p10"] is None or spread["p90"] is None:
        return 0.0
    return float(abs(spread["p90"] - spread["p10"]) / P10_TO_P90_SIGMA / math.sqrt(effective))


def share_error(share: float, effective: float) -> float:
    """Error that decides the digits of a share: √(p(1 − p)/ESS)."""
    return math.sqrt(max(0.0, share * (1.0 - share)) / effective)


def spelt(share: str) -> str:
    """A share with its bound in words."""
    return share.replace("< ", "less than ").replace("> ", "more than ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """How numbers and names are written on one medium.

    Parameters
    ----------
    thousands, decimal
        Separators of thousands and of fractions.
    less, more
        Words of a bound in a sentence.
    points_name, cannot, harmful
        Percentage points; a break-even that no pool reaches; one that no reduction reaches.
    name
        Makes a name from a user's file safe for the medium.
    """

    thousands: str = ","
    decimal: str = "."
    less: str = "less than "
    more: str = "more than "
    points_name: str = "points"
    cannot: str = CANNOT_BE_BOUGHT
    harmful: str = HARMFUL
    name: Callable[[str], str] = plain

    def rounded(self, value: float, step: float) -> str:
        """The value rounded to a multiple of `step`, a power of ten."""
        places = max(0, -round(math.log10(step)))
        nearest = round(value / step) * step
        whole, _, fraction = f"{abs(nearest):,.{places}f}".partition(".")
        text = whole.replace(",", self.thousands)
        text += f"{self.decimal}{fraction}" if fraction else ""
        return f"{MINUS}{text}" if nearest < 0 else text

    def amount(self, value: float | None, error: float | None = 0.0, *, ratio: bool = False) -> str:
        """A quantity to the decade of its Monte Carlo standard error.

        Parameters
        ----------
        value
            The quantity; None where it does not exist.
        error
            Its error; 0 where simulation leaves none, None where it has no bound: then one
            significant digit is all that can be said.
        ratio
            Whether it is a small ratio, printed to three decimals at best, rather than a count of
            accelerators, whose fractions are printed below ten only.
        """
        if value is None:
            return NOTHING
        if error == 0 and float(value).is_integer():
            return self.rounded(value, 1.0)
        return self.rounded(value, self._step(value, error, ratio=ratio))

    def beside(self, middle: float, value: float) -> str:
        """A value on the step of the third significant digit of `middle`."""
        return self.rounded(value, decade(abs(middle)) / 100 if middle else 0.01)

    def amount_with_error(self, value: float, error: float | None, *, ratio: bool = False) -> str:
        """The same with its error: ``260 ± 5``."""
        text = self.amount(value, error, ratio=ratio)
        if not error:
            return text
        step = self._step(value, error, ratio=ratio)
        return f"{text} ± {self._at_least(error, step)}"

    def _at_least(self, error: float, step: float) -> str:
        """An error on the step of its value; one that would vanish is the step itself."""
        return self.rounded(max(error, step), step)

    def _step(self, value: float, error: float | None, *, ratio: bool) -> float:
        if error is None:
            return decade(abs(value)) if value else 1.0
        count = 1.0 if abs(value) >= EXACT_ABOVE or value == 0 else 0.1
        finest = FINEST_RATIO if ratio else count
        return max(finest, decade(error)) if error > 0 else finest

    def share(self, value: float | None, error: float | None, effective: float) -> str:
        """A probability in percent to the decade of its error.

        One of zero or one, or too near to tell from it, is a bound: the larger of 3/ESS and two
        standard errors beyond the estimate.
        """
        if value is None:
            return NOTHING
        step = self._share_step(error)
        for near, sign, end in ((value, "<", 0.0), (1.0 - value, ">", 1.0)):
            if near < step / 2:
                bound = min(1.0, max(RULE_OF_THREE / effective, near + 2 * (error or 0.0)))
                width = max(decade(bound), FINEST_SHARE)
                wide = math.ceil(bound / width - 1e-9) * width
                return f"{sign} {self._percent(abs(end - wide), width)}%"
        return f"{self._percent(value, step)}%"

    def share_with_error(self, value: float | None, error: float | None, effective: float) -> str:
        """The same with its error: ``45.8 ± 0.7%``; a bound needs none."""
        text = self.share(value, error, effective)
        if value is None or not error or text[0] in "<>":
            return text
        step = self._share_step(error)
        return f"{text[:-1]} ± {self._at_least(100 * error, 100 * step)}%"

    def share_in_words(self, value: float | None, error: float | None, effective: float) -> str:
        """The same for a sentence: ``less than 0.1%``."""
        return self.spelt(self.share_with_error(value, error, effective))

    def spelt(self, share: str) -> str:
        """A share with its bound in words."""
        return share.replace("< ", self.less).replace("> ", self.more)

    def estimate(self, value: float | None, effective: float) -> str:
        """A probability stated without an error: to the decade of √(p(1 − p)/ESS)."""
        if value is None:
            return NOTHING
        return self.share(value, share_error(value, effective), effective)

    def points(self, difference: float, error: float) -> str:
        """A difference of two shares in percentage points with its error."""
        if not error:
            return f"{self._percent(difference, 0.01)} {self.points_name}"
        step = self._share_step(error)
        width = self._at_least(100 * error, 100 * step)
        return f"{self._percent(difference, step)} ± {width} {self.points_name}"

    def _share_step(self, error: float | None) -> float:
        return max(FINEST_SHARE, decade(error)) if error else FINEST_SHARE

    def _percent(self, share: float, step: float) -> str:
        return self.rounded(100 * share, 100 * step)

    def digits(self, value: float, count: int = 3) -> str:
        """A value to so many significant digits."""
        text = f"{value:.{count}g}".replace("-", MINUS)
        return text.replace(".", self.decimal)

    def sea(self, quantile: Mapping[str, Any], *, cannot: str = "") -> str:
        """A break-even in accelerators; `cannot` where no pool reaches it.

        Where an option does more harm than any reduction of the pool there is no figure either.
        """
        if quantile["status"] == "unattainable":
            return cannot or self.cannot
        if quantile["value"] is None:
            return self.harmful
        return self.amount(quantile["value"], quantile["mcse"])


TERMINAL = Notation()
