"""One prior: a family with its parameters, where they come from, its quantiles and variable."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from model.field import Field
from priors.families import FAMILIES, Family, Floats

BASES = ("published", "derived", "calibrated", "assumed")
"""What a prior can rest on."""

OUTSIDE_MASS = 1e-12
"""A prior may leave a field's range with less probability than this: never in practice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What a prior may reach.

    Parameters
    ----------
    lower, upper
        Inclusive bounds.
    lower_open
        Whether the lower bound itself is excluded.
    text
        The range in words.
    """

    lower: float
    upper: float
    lower_open: bool = False
    text: str

    @classmethod
    def of(cls, field: Field) -> "Range":
        """The allowed range of a scenario field."""
        return cls(
            lower=field.lower, upper=field.upper, lower_open=field.lower_open, text=field.allowed
        )


POSITIVE = Range(lower=0.0, upper=np.inf, lower_open=True, text="a finite number above 0")
"""Range of scales, ratios and spreads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A documented distribution of one quantity.

    Parameters
    ----------
    path
        Dotted path of the scenario field, or the name of an auxiliary quantity.
    family
        Key of :data:`priors.families.FAMILIES`.
    parameters
        Parameters by name.
    allowed
        Range the quantity is confined to.
    elicited
        The interval the parameters were resolved from, None where they were given.
    basis, source, rationale, owner
        What it rests on, where that stands, why this shape, who answers for it.
    """

    path: str
    family: str
    parameters: Mapping[str, float]
    allowed: Range
    elicited: Mapping[str, object] | None = None
    basis: str = "assumed"
    source: str = ""
    rationale: str = ""
    owner: str = ""

    @property
    def _family(self) -> Family:
        return FAMILIES[self.family]

    @property
    def is_fixed(self) -> bool:
        """Whether the value is known."""
        return self.family == "fixed"

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self._family.support(self.parameters)

    @property
    def median(self) -> float:
        """The value that is as likely too low as too high."""
        return float(self.quantile(0.5))

    def quantile(self, p: ArrayLike) -> Floats:
        """Value below which a share ``p`` lies; the result has the shape of ``p``.

        F⁻¹(p). Uniform p give draws of the prior.
        """
        return np.asarray(self._family.quantile(np.asarray(p, dtype=float), self.parameters))

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of a value of at most ``x``, in the shape of ``x``."""
        return np.asarray(self._family.cdf(np.asarray(x, dtype=float), self.parameters))

    def variable(self, name: str | None = None) -> Any:
        """The native PyMC variable, inside a model's context; a constant where it is fixed.

        Parameters
        ----------
        name
            Name in the model, by default the path.
        """
        import pymc as pm

        prior = self.for_sampling()
        # Plain floats that float32 can hold would become float32 constants.
        parameters = {key: np.float64(value) for key, value in prior.parameters.items()}
        label = self.path if name is None else name
        return FAMILIES[prior.family].variable(pm, label, parameters)

    def for_sampling(self) -> "Prior":
        """The same density to OUTSIDE_MASS, in a form whose sampler cannot leave the range."""
        low, high = self.allowed.lower, self.allowed.upper
        if self.family != "normal" or not (np.isfinite(low) or np.isfinite(high)):
            return self
        bounds = {"low": low, "high": high}
        return replace(
            self,
            family="truncated_normal",
            parameters=MappingProxyType({**self.parameters, **bounds}),
        )

    def describe(self) -> str:
        """Family and parameters in one line, as a reader would write them."""
        numbers = ", ".join(f"{name} {value:.4g}" for name, value in self.parameters.items())
        text = f"{self.family}({numbers})"
        if self.elicited is not None:
            low, high, mass = (self.elicited[key] for key in ("low", "high", "mass"))
            text += f" from {mass:.0%} in [{low:g}, {high:g}]"
        return text

    def as_mapping(self) -> dict[str, object]:
        """What determines draws and density, for digests."""
        return {"family": self.family, "parameters": dict(self.parameters)}
