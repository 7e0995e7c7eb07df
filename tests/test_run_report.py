"""The report: the page says what the result says, and is sound in every case."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from drawn_runs import HARD, NAMES, UNITS, drifting_apart, finished, stamped
from tobyqa import Optimizer, Status, report
from tobyqa.advice import advice, left_to_gain
from tobyqa.view import LOCAL_DRIFT, view, with_error

pytest.importorskip("matplotlib")

VOID = {"meta", "link", "img", "br"}


class Page(HTMLParser):
    """A page as a test sees it; unbalanced elements and repeated ids are errors."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.elements = [], set(), []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"an attribute of {tag} occurs twice"
        if "id" in attributes:
            assert attributes["id"] not in self.ids
            self.ids.add(attributes["id"])
        element = {"tag": tag, "text": "", "inside": [e["tag"] for e in self.open]}
        element["attributes"] = attributes
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> without a beginning"
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag):
        return [element for element in self.elements if element["tag"] == tag]

    def by_id(self, name):
        (found,) = [e for e in self.elements if e["attributes"].get("id") == name]
        return found

    @property
    def answer(self):
        return json.loads(self.by_id("tobyqa-answer")["text"])


def written(source, tmp_path):
    path = report.write(source, tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    return Page(path.read_text(encoding="utf-8"))


# -- the answer ----------------------------------------------------------------------


def test_answer_for_machines_is_the_result(tmp_path):
    opt = stamped()
    result, stated = opt.result(), written(opt, tmp_path).answer
    assert stated["names"] == NAMES
    assert stated["units"] == UNITS
    for key in ("x", "x_std"):
        np.testing.assert_array_equal(stated[key], result[key])  # every bit of it
    for key in "fun fun_std t drift_rate drift_rate_std noise_std nfev nfail".split():
        assert stated[key] == result[key]
    assert stated["status_name"] == "MAXFEV"
    assert stated["success"] is False


def test_a_drift_that_depends_on_the_place_is_told(tmp_path):
    page = written(drifting_apart(), tmp_path)
    assert page.answer["drift_is_local"] is True
    assert LOCAL_DRIFT in page.by_id("answer")["text"]
    page = written(stamped(), tmp_path)
    assert page.answer["drift_is_local"] is False
    assert LOCAL_DRIFT not in page.by_id("answer")["text"]


def test_answer_for_people_comes_first(tmp_path):
    opt = stamped()
    result, page = opt.result(), written(opt, tmp_path)
    assert [e["attributes"]["id"] for e in page.all("section")] == [
        "answer",
        "pictures",
        "readings",
        "settings",
    ]
    text = page.by_id("answer")["text"]
    for name, unit, x, std in zip(NAMES, UNITS, result.x, result.x_std, strict=True):
        rounded, _ = with_error(x, std).split(" ± ")
        assert f"{name} = {rounded} {unit}" in text
        assert with_error(x, std) in text
    assert with_error(result.fun, result.fun_std) in text
    assert re.search(r"Drift\d\.\d+ ± 0\.\d+ per hour", text.replace("\n", ""))
    assert "budget maxfev is spent" in text


def test_drift_of_numbered_readings_is_per_reading(tmp_path):
    assert "per reading" in written(finished(), tmp_path).by_id("answer")["text"]


def test_what_is_not_known_is_null(tmp_path):
    page = written(Optimizer([1.0, 2.0]), tmp_path)
    assert page.answer["fun"] is None
    assert page.answer["x_std"] == [None, None]
    assert "No answer yet" in page.by_id("answer")["text"]
    assert "nan" not in page.by_id("answer")["text"]


# -- what to do next -----------------------------------------------------------------


def test_every_status_has_advice():
    said = {}
    for status in Status:
        result = finished(2, 40).result()
        result["status"], result["message"] = status.code, status.message
        said[status] = advice(view(result)).text
    assert all(len(text) > 40 for text in said.values())
    assert "Use these settings" in said[Status.SETTLED]
    assert "Use these settings" not in said[Status.UNRESOLVED]
    assert "why the measurements failed" in said[Status.FAILURES]
    assert "say maximize" in said[Status.UNBOUNDED]
    assert "is sensible" in said[Status.RUNNING]


def test_spent_budget_with_much_left_to_gain_asks_for_more(tmp_path):
    path = tmp_path / "run.jsonl"
    opt = finished(2, 10, method="paper", journal=path)
    assert left_to_gain(view(opt)) > opt.result().noise_std
    opt.close()
    text = written(path, tmp_path).by_id("next")["text"]
    assert "Going on is worthwhile" in text
    command = re.search(r"tobyqa\.Optimizer\.resume\((.*), maxfev=(\d+)\)", text)
    with Optimizer.resume(path, maxfev=int(command[2])) as resumed:
        assert command[1] == repr(str(path))
        assert not resumed.done


def test_spent_budget_with_little_left_to_gain_says_it_can_be_used(tmp_path):
    opt = finished(2, 60)
    assert 0.0 < left_to_gain(view(opt)) < opt.result().noise_std
    assert "can be used" in written(opt, tmp_path).by_id("next")["text"]


def test_spent_budget_without_a_model(tmp_path):
    with pytest.warns(UserWarning, match="maxfev = 3 is too small"):
        opt = finished(3, 3)
    text = written(opt, tmp_path).by_id("answer")["text"]
    assert "too small for a model of 3 variables" in text
    assert "lowest reading so far" in text


# -- readings and settings -----------------------------------------------------------


def test_every_event_has_its_row(tmp_path):
    opt = stamped()
    page, history = written(opt, tmp_path), opt.result().history
    text = page.by_id("readings")["text"]
    rows = [line for line in text.splitlines() if re.match(r"\d", line)]
    assert len(rows) == len(history)
    assert "failed: door 12 open" in rows[12]
    assert "2026-05-28 20:26:40" in rows[0]
    headers = [e["text"] for e in page.all("th") if "thead" in e["inside"]]
    assert "temperature (°C)" in headers
    assert "Drift removed" in headers


def test_odd_column_names_hide_no_column(tmp_path):
    opt = finished(2, 20, names=["Reading", "No."])
    page = written(opt, tmp_path)
    headers = [e["text"] for e in page.all("th") if "thead" in e["inside"]]
    assert headers.count("Reading") == headers.count("No.") == 2


def test_settings_and_versions(tmp_path):
    text = written(stamped(), tmp_path).by_id("settings")["text"]
    for name in ("tobyqa", "numpy", "scipy", "python", "maxfev", "noise"):
        assert name in text
    assert np.__version__ in text


# -- the page ------------------------------------------------------------------------


@pytest.mark.parametrize("case", HARD)
def test_hard_cases_are_sound_pages(case, tmp_path):
    opt = HARD[case]()
    page = written(opt, tmp_path)
    finite = [x if math.isfinite(x) else None for x in opt.result().x_std]
    assert page.answer["x_std"] == finite
    assert page.answer["x"] == list(opt.result().x)


def test_names_and_reasons_are_harmless(tmp_path):
    evil = "</script><script>alert(1)</script>"
    opt = Optimizer([1.0, 2.0], names=["<b>", evil], units=['"onload="x', "&amp;"])
    opt.tell(opt.ask(), 1.0)
    opt.tell_failed(opt.ask(), "<img src=x onerror=alert(2)>")
    page = written(opt, tmp_path)
    assert len(page.all("script")) == 1
    assert not page.all("b")
    assert all("onerror" not in e["attributes"] for e in page.elements)
    assert page.answer["names"] == ["<b>", evil]
    assert page.answer["units"] == ['"onload="x', "&amp;"]
    assert "<b> = 1" in page.by_id("answer")["text"]
    assert "<img src=x" in page.by_id("readings")["text"]


def test_page_needs_nothing_else(tmp_path):
    page = written(finished(), tmp_path)
    for element in page.elements:
        for key in ("src", "href"):
            assert element["attributes"].get(key, "data:").startswith("data:")
    (style,) = page.all("style")
    assert "url(" not in style["text"]
    assert "@import" not in style["text"]
    for query in ("prefers-color-scheme: dark", "@media print"):
        assert query in style["text"]
    for image in page.all("img"):
        svg = base64.b64decode(image["attributes"]["src"].partition(",")[2])
        assert b"<svg" in svg
        assert not re.search(rb'(xlink:)?href="(?!#|data:)', svg)


def test_page_is_accessible(tmp_path):
    page = written(finished(), tmp_path)
    assert page.all("html")[0]["attributes"]["lang"] == "en"
    assert all(len(e["attributes"]["alt"]) > 20 for e in page.all("img"))
    assert len(page.all("img")) == 2
    assert all(e["attributes"]["scope"] in ("col", "row") for e in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert len(page.all("h1")) == 1


def test_journal_in_use_can_be_reported(tmp_path):
    path = tmp_path / "run.jsonl"
    with stamped(journal=path):
        before = path.read_bytes()
        page = written(path, tmp_path)
        assert path.read_bytes() == before
    assert page.all("h1")[0]["text"] == "run.jsonl"


# -- in a browser --------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs chromium and chromedriver (apt-get install chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    # No sandbox and no shared memory: both are missing in many containers.
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.mark.parametrize("case", ["time stamps", "odd names", "no reading"])
def test_report_opens_in_a_browser(case, browser, tmp_path):
    opt = HARD[case]()
    path = report.write(opt, tmp_path / "report.html")
    browser.get(path.as_uri())
    content = "return document.getElementById('tobyqa-answer').textContent"
    stated = json.loads(browser.execute_script(content))
    assert stated["x"] == list(opt.result().x)
    shown = browser.find_element("css selector", ".set").text
    assert all(name in shown for name in opt.names)
    loaded = "return [...document.images].map(i => i.complete && i.naturalWidth > 100)"
    images = browser.execute_script(loaded)
    assert images
    assert all(images)
    wide = "return document.documentElement.scrollWidth - window.innerWidth"
    for width in (360, 1200):  # a telephone and a desk
        browser.set_window_size(width, 900)
        assert browser.execute_script(wide) <= 0
    requests = "return performance.getEntriesByType('resource').map(e => e.name)"
    assert all(r.startswith("data:") for r in browser.execute_script(requests))
    assert browser.get_log("browser") == []
