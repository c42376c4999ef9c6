"""Number of features and features per sample, whichever of the two the data were given by."""

from __future__ import annotations

import pandas as pd


def with_sizes(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with ``p`` and ``aspect_ratio`` filled in where the data tell the other one.

    Generators take one of the two and leave the other empty; the fact ``n_features`` is the number
    that came of it. A table without number of samples is given no ratio.
    """
    features = frame["p"] if "p" in frame.columns else pd.Series(float("nan"), index=frame.index)
    if "n_features" in frame.columns:
        features = features.fillna(frame["n_features"])
    filled = _filled(frame, "p", features)
    if "n_samples" not in frame.columns:
        return filled
    return _filled(filled, "aspect_ratio", features / frame["n_samples"])


def _filled(frame: pd.DataFrame, name: str, values: pd.Series) -> pd.DataFrame:
    if name in frame.columns:
        return frame.assign(**{name: frame[name].fillna(values)})
    if values.isna().all():
        return frame
    # First, as the columns before the status tell replicates apart.
    return pd.concat([values.rename(name), frame], axis=1)
