"""Small models and rows for pages, and what a page says when it is read."""

import re
from html.parser import HTMLParser

import numpy as np

from collegium import CommitteeClassifier, CommitteeRegressor, OnlineGPRegressor
from collegium.kernels import RBF, Matern52


def rows(n, d, seed=0):
    return np.random.default_rng(seed).uniform(-3, 3, size=(n, d))


def numbers(d=2, n=160, **more):
    """A model of the first half of some rows, and the second half."""
    X = rows(n, d)
    y = np.sin(X[:, 0]) + 0.2 * np.random.default_rng(1).standard_normal(n)
    lengths = 1.2 if d == 1 else np.r_[1.2, np.full(d - 1, 6.0)]
    model = CommitteeRegressor(RBF(1.0, lengths), noise=0.04, learn=False, members=None)
    half = n // 2
    return model.fit(X[:half], y[:half]), X[half:], y[half:]


def labels(words, n=160):
    X = rows(n, 2)
    turn = np.random.default_rng(2).uniform(-0.3, 0.3, n)
    y = np.array(words)[
        (np.floor((X[:, 0] + turn + 3) / 6 * len(words))).astype(int).clip(0, len(words) - 1)
    ]
    likelihood = {} if len(words) == 2 else {"likelihood": "softmax"}
    model = CommitteeClassifier(RBF(3.0, 1.5), learn=False, **likelihood)
    half = n // 2
    return model.fit(X[:half], y[:half]), X[half:], y[half:]


def counts(n=160):
    X, rng = rows(n, 2), np.random.default_rng(3)
    exposure = rng.uniform(0.5, 2.0, n)
    y = rng.poisson(exposure * np.exp(0.5 * X[:, 0]))
    model = CommitteeRegressor(RBF(0.5, 2.0), likelihood="poisson", learn=False)
    half = n // 2
    model.fit(X[:half], y[:half], exposure=exposure[:half])
    return model, X[half:], y[half:], exposure[half:]


def stream(n=500):
    X = rows(n, 2)
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(4).standard_normal(n)
    model = OnlineGPRegressor(Matern52(1.0, 1.5), noise=0.01, learn=False, random_state=0)
    return model.fit(X[:200], y[:200]), X[200:], y[200:]


class Page(HTMLParser):
    """Tables of a page by their caption, its elements, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.elements, self.words = {}, [], []
        self._rows, self._cell, self._caption = [], None, None
        self.open = []
        self.feed(html)
        self.close()
        self.text = re.sub("[ \n]+", " ", " ".join(self.words))

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)
        if tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell = []
        elif tag == "caption":
            self._rows, self._caption = [], []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        if tag in ("td", "th"):
            self._rows[-1].append("".join(self._cell))
            self._cell = None
        elif tag == "table":
            self.tables["".join(self._caption)] = self._rows

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words.append(data)
        if self._cell is not None:
            self._cell.append(data)
        elif self.open[-1:] == ["caption"]:
            self._caption.append(data)

    def row(self, caption, first):
        (found,) = [one for one in self.tables[caption] if one[0] == first]
        return found

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def value(text):
    """A number or a share as it is written on a page."""
    text = text.replace("\u2212", "-").replace(",", "")
    if text.endswith("\u202f%"):
        return float(text[:-2]) / 100.0
    return float(text)
