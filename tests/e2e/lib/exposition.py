"""The text exposition format of Prometheus, read strictly: a scraper forgives much, this does not."""

import re
import urllib.error
import urllib.request

NAME = re.compile(r"[a-z][a-z0-9_]*")
SAMPLE = re.compile(r"([a-z][a-z0-9_]*)(?:\{(.*)\})? (\d+(?:\.\d+)?)")
LABEL = re.compile(r'([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SUFFIXES = {"counter": [""], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}


class Exposition:
    """Families with their samples; anything out of order is an AssertionError."""

    def __init__(self, text):
        self.types = {}
        self.samples = {}
        assert text.endswith("\n"), "the last line has no end"
        lines = text[:-1].split("\n")
        family = None
        for number, line in enumerate(lines):
            if line.startswith("# HELP "):
                family = self._begin(line, lines[number + 1])
            elif not line.startswith("#"):
                self._add(family, line)
            else:
                assert line.startswith(f"# TYPE {family} "), line
        for name, kind in self.types.items():
            if kind == "histogram":
                self._check_histogram(name)

    def _begin(self, line, type_line):
        name, text = line[len("# HELP "):].split(" ", 1)
        assert NAME.fullmatch(name) and text.endswith("."), line
        assert name not in self.types, f"{name} comes twice"
        kind = type_line.split(" ")[-1]
        assert type_line == f"# TYPE {name} {kind}" and kind in SUFFIXES, type_line
        assert name.endswith("_total") == (kind == "counter"), f"{name} is a {kind}"
        self.types[name] = kind
        return name

    def _add(self, family, line):
        found = SAMPLE.fullmatch(line)
        assert found, f"no sample: {line}"
        name, labels, value = found.groups()
        assert name in [family + suffix for suffix in SUFFIXES[self.types[family]]], f"{line} below {family}"
        key = (name, read_labels(labels or "", line))
        assert key not in self.samples, f"{line} comes twice"
        self.samples[key] = float(value)

    def _check_histogram(self, name):
        """Buckets rise, the last is +Inf, and it is the count."""
        series = {}
        for (sample, labels), value in self.samples.items():
            if sample == f"{name}_bucket":
                bounds = dict(labels)
                series.setdefault(labels - {("le", bounds["le"])}, []).append((float(bounds["le"]), value))
        for labels, buckets in series.items():
            assert buckets == sorted(buckets) and [v for _, v in buckets] == sorted(v for _, v in buckets), buckets
            assert buckets[-1] == (float("inf"), self.samples[(f"{name}_count", labels)]), (name, labels)
            assert (f"{name}_sum", labels) in self.samples

    def value(self, name, **labels):
        """The one sample with exactly these labels, or None."""
        return self.samples.get((name, frozenset(labels.items())))

    def labels(self, name, label):
        """Every value that a label has in a family."""
        return {dict(labels).get(label) for (sample, labels) in self.samples if sample == name}


def read_labels(text, line):
    labels, at = [], 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found, f"labels of {line}"
        labels.append(found.groups()[:2])
        at = found.end()
    assert len(dict(labels)) == len(labels), f"a label comes twice: {line}"
    return frozenset(labels)


def address(host):
    return host.log.wait("metrics_listening")["address"]


def get(host, path):
    """Status and text; a host that refuses answers too."""
    try:
        with urllib.request.urlopen(f"http://{address(host)}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def scrape(host):
    status, text = get(host, "/metrics")
    assert status == 200, text
    return Exposition(text)
