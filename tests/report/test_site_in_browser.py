"""The pages of a report in a real Chromium: what they show, and that they need no network."""

from __future__ import annotations

import json
import shutil
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_site import SETTINGS

import greedyexp
from greedyexp.report.site.build import build
from greedyexp.results.words import short_name

pytestmark = pytest.mark.browser

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1200,900",
)
# Text of the hover label, without its colours and places.
HOVER = (
    "return [...document.querySelectorAll('.hoverlayer text')].map(t => t.textContent).join(' ')"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("browser") / "results"
    greedyexp.run({**SETTINGS, "trials": 12}, out=out, engine="serial", progress=False)
    return out / "small" / "quick"


@pytest.fixture(scope="module")
def site(run):
    other = run.parents[1] / "other" / "quick"
    shutil.copytree(run, other)
    out = run.parents[2] / "report"
    build(run.parents[1], out, compared=[(run, other)], jobs=1)
    return out


@pytest.fixture(scope="module")
def browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if not (program and driver):
        pytest.skip("Chromium and its driver are not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(driver))
    yield made
    made.quit()


def opened(browser, file: Path):
    browser.get(file.as_uri())
    return browser


def pages(site: Path) -> list[Path]:
    return [
        site / "index.html",
        site / "small" / "quick" / "index.html",
        site / "comparison_1.html",
    ]


@pytest.fixture
def page(browser, site):
    opened(browser, pages(site)[1])
    until(browser, "return document.querySelectorAll('.js-plotly-plot').length === 2")
    return browser


def until(browser, condition: str, seconds: float = 20.0):
    """Wait until a script returns something true, and return it."""
    end = time.monotonic() + seconds
    while not (found := browser.execute_script(condition)):
        assert time.monotonic() < end, condition
        time.sleep(0.05)
    return found


def point_at(browser, place: int, trace: int, figure: int = 1, *, click: bool = False) -> dict:
    """Move the mouse to a point; return what the page knows of it."""
    from selenium.webdriver import ActionChains

    script = """
      const plot = document.querySelectorAll('.plot')[arguments[0]];
      plot.scrollIntoView({block: 'center'});
      const trace = plot.data[arguments[1]], full = plot._fullData[arguments[1]];
      const layout = plot._fullLayout;
      const axis = (kind) => layout[kind + 'axis' + full[kind + 'axis'].slice(1)];
      const [x, y] = [axis('x'), axis('y')];
      const box = plot.getBoundingClientRect();
      return [box.left + x._offset + x.d2p(trace.x[arguments[2]]),
              box.top + y._offset + y.d2p(trace.y[arguments[2]])];
    """
    x, y = browser.execute_script(script, figure, trace, place)
    actions = ActionChains(browser)
    actions.move_by_offset(1, 1).w3c_actions.pointer_action.move_to_location(x - 3, y)
    actions.w3c_actions.pointer_action.move_to_location(x, y)
    actions.w3c_actions.pointer_action.pause(0.3)
    if click:
        actions.w3c_actions.pointer_action.click()
    actions.perform()
    text = browser.execute_script(
        "return document.querySelectorAll('.figure')[arguments[0]]"
        ".querySelector(\"script[type='application/json']\").textContent",
        figure,
    )
    known = json.loads(text)["points"][str(trace)]
    return {
        kind: {name: column[place] for name, column in known[kind].items()}
        for kind in ("keys", "facts")
    } | known["behind"][known["places"][place]]


def known_traces(browser, figure: int = 1) -> list[int]:
    text = browser.execute_script(
        "return document.querySelectorAll('.figure')[arguments[0]]"
        ".querySelector(\"script[type='application/json']\").textContent",
        figure,
    )
    return [int(index) for index in json.loads(text)["points"]]


def test_hovering_shows_the_mean_of_the_csv(page, run):
    frame = greedyexp.open(run).rows.rename(columns=short_name)
    trace = known_traces(page)[0]
    for place in (0, 1):
        keys = point_at(page, place, trace)["keys"]
        rows = frame
        for name, value in keys.items():
            rows = rows[rows[name] == value]
        assert len(rows) == 12
        wanted = f"{rows['training error'].mean():.6g}"
        text = until(page, HOVER)
        assert wanted in text, text
        assert f"n = {keys['n']}" in text
        point_at(page, 1 - place, trace)


def test_a_click_shows_the_rows_behind_a_point_and_how_to_replay_one(page, run):
    known = point_at(page, 1, known_traces(page)[0], click=True)
    said = until(page, "return document.querySelectorAll('.chosen')[1].textContent")
    assert f"greedyexp replay {run} --where {known['where']}" in said
    page.execute_script(
        "document.querySelectorAll('.chosen')[1].querySelector('dl+button').click()"
    )
    cells = until(
        page,
        "return [...document.querySelectorAll('.chosen tbody tr')].map("
        "row => [...row.cells].map(cell => cell.textContent))",
    )
    header = page.execute_script(
        "return [...document.querySelectorAll('.chosen thead th')].map(h => h.textContent)"
    )
    lines = (run / "small.csv").read_text().splitlines()
    first = dict(zip(lines[0].split(","), lines[1 + known["rows"][0][0]].split(","), strict=True))
    assert len(cells) == 12
    assert dict(zip(header, cells[0], strict=True)) == {
        k: v for k, v in first.items() if k in header
    }


def test_an_entry_of_the_legend_hides_its_lines(page):
    entry = page.find_element("css selector", ".figure .legend button")
    count = (
        "return document.querySelector('.plot')._fullData.filter(t => t.visible === true).length"
    )
    before = page.execute_script(count)
    entry.click()
    assert entry.get_attribute("aria-pressed") == "false"
    assert page.execute_script(count) < before
    entry.click()
    assert page.execute_script(count) == before


def test_zooming_by_buttons_and_back(page):
    limits = "return [...document.querySelector('.plot')._fullLayout.yaxis.range]"
    low, high = page.execute_script(limits)
    page.execute_script("document.querySelector('.tools .in').click()")
    inner = page.execute_script(limits)
    assert inner[1] - inner[0] == pytest.approx((high - low) / 2)
    page.execute_script("document.querySelector('.tools .reset').click()")
    assert page.execute_script(limits) == pytest.approx([low, high])


def test_the_numbers_of_a_figure_are_a_table_that_sorts(page):
    page.execute_script("document.querySelectorAll('.numbers')[1].open = true")
    until(page, "return document.querySelectorAll('.numbers')[1].querySelector('tbody tr')")
    column = (
        "return [...document.querySelectorAll('.numbers')[1].querySelectorAll('tbody tr')]"
        ".map(row => Number(row.cells[1].textContent))"
    )
    for expected in (sorted, lambda values: sorted(values, reverse=True)):
        page.execute_script(
            "document.querySelectorAll('.numbers')[1].querySelectorAll('th button')[1].click()"
        )
        values = page.execute_script(column)
        assert len(values) == 6
        assert values == expected(values)


def test_the_index_is_filtered_and_leads_to_the_runs(browser, site):
    opened(browser, site / "index.html")
    box = browser.find_element("css selector", "#filter")
    box.send_keys("nothing like it")
    shown = (
        "return [...document.querySelectorAll('#all-runs tbody tr')].filter(r => !r.hidden).length"
    )
    assert browser.execute_script(shown) == 0
    box.clear()
    box.send_keys("small")
    assert browser.execute_script(shown) == 2
    browser.find_element("css selector", "#all-runs tbody a").click()
    assert browser.title == "small"


def test_no_page_has_an_error_or_asks_a_network(browser, site):
    browser.get_log("browser")
    browser.get_log("performance")
    for file in pages(site):
        opened(browser, file)
        browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
        plots = len(browser.find_elements("css selector", ".plot"))
        until(browser, f"return document.querySelectorAll('.js-plotly-plot').length === {plots}")
        time.sleep(0.2)
        assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
        messages = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
        asked = [
            one["params"]["request"]["url"]
            for one in messages
            if one["method"] == "Network.requestWillBeSent"
        ]
        assert asked
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, site, theme):
    axe = Path(find_spec("axe_playwright_python").origin).with_name("axe.min.js").read_text()
    for file in pages(site):
        opened(browser, file)
        browser.execute_script(
            "if (document.documentElement.dataset.theme !== arguments[0])"
            " document.getElementById('theme').click()",
            theme,
        )
        browser.execute_script(
            "document.querySelectorAll('details').forEach(d => { d.open = true })"
        )
        plots = len(browser.find_elements("css selector", ".plot"))
        browser.execute_script(
            "document.querySelectorAll('.plot').forEach(plot => plot.scrollIntoView())"
        )
        until(browser, f"return document.querySelectorAll('.js-plotly-plot').length === {plots}")
        browser.execute_script(axe)
        found = browser.execute_async_script(
            "const done = arguments[0]; axe.run().then(result => done(result.violations))"
        )
        serious = [
            (one["id"], [node["html"][:120] for node in one["nodes"][:3]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], file


def test_the_index_is_painted_within_a_second(browser, site):
    opened(browser, site / "index.html")
    paint = until(
        browser, "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    )
    assert paint < 1000
