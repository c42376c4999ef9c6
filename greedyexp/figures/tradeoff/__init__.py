"""Figures of protocols ``tradeoff`` and ``tightness``: risk, steps and features, with bounds."""
