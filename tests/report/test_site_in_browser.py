"""The pages of a report in a real Chromium: what they show, and that they need no network."""

from __future__ import annotations

import json
import shutil
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_site import SETTINGS

import greedyexp
from greedyexp.report.site.build import build
from greedyexp.report.site.serve import server_of
from greedyexp.results.words import short_name

pytestmark = pytest.mark.browser

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1200,900",
)
# Text of the label beside the pointer.
HOVER = (
    "return [...document.querySelectorAll('.tip')].filter(tip => !tip.hidden)"
    ".map(tip => tip.innerText).join(' ').replace(/\\s+/g, ' ')"
)
# Is a script of a page done with a figure?
READY = "return document.querySelectorAll('.canvas .ring').length === arguments[0]"


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
    until(browser, READY, 2)
    return browser


def until(browser, condition: str, *given, seconds: float = 20.0):
    """Wait until a script returns something true, and return it."""
    end = time.monotonic() + seconds
    while not (found := browser.execute_script(condition, *given)):
        assert time.monotonic() < end, condition
        time.sleep(0.05)
    return found


def series_of(browser, figure: int = 1) -> list[dict]:
    text = browser.execute_script(
        "return document.querySelectorAll('.figure')[arguments[0]]"
        ".querySelector(\"script[type='application/json']\").textContent",
        figure,
    )
    return json.loads(text)


def known_of(series: dict, place: int) -> dict:
    """Return what a page knows of a point."""
    return {
        kind: {
            name: column[0] if len(column) == 1 else column[place]
            for name, column in series[kind].items()
        }
        for kind in ("keys", "facts")
    }


def point_at(browser, place: int, number: int = 0, figure: int = 1, *, click: bool = False) -> dict:
    """Move the mouse to a point of a series; return what the page knows of it."""
    from selenium.webdriver import ActionChains

    series = series_of(browser, figure)[number]
    script = """
      const svg = document.querySelectorAll('.canvas svg')[arguments[0]];
      svg.scrollIntoView({block: 'center'});
      const point = new DOMPoint(...arguments[1]).matrixTransform(svg.getScreenCTM());
      return [point.x, point.y];
    """
    at = [series["x"][place], series["y"][place]]
    x, y = browser.execute_script(script, figure, at)
    actions = ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(x - 3, y)
    actions.w3c_actions.pointer_action.move_to_location(x, y)
    if click:
        actions.w3c_actions.pointer_action.click()
    actions.perform()
    behind = series["behind"][series["places"][place]] if series["places"] else {}
    return known_of(series, place) | behind


def test_hovering_shows_the_mean_of_the_csv(page, run):
    frame = greedyexp.open(run).rows.rename(columns=short_name)
    for place in (0, 1):
        keys = point_at(page, place)["keys"]
        rows = frame
        for name, value in keys.items():
            rows = rows[rows[name] == value]
        assert len(rows) == 12
        text = until(page, HOVER)
        assert f"{rows['training error'].mean():.6g}" in text, text
        assert f"n = {keys['n']}" in text


def test_every_point_shows_its_own_numbers(page):
    for figure in (0, 1):
        for number, series in enumerate(series_of(page, figure)):
            for place in range(len(series["x"])):
                known = point_at(page, place, number, figure)
                text = until(page, HOVER)
                assert ", ".join(f"{n} = {v}" for n, v in known["keys"].items()) in text, text


def test_the_keyboard_reaches_every_point_and_speaks_its_numbers(page):
    from selenium.webdriver.common.keys import Keys

    canvas = page.find_elements("css selector", ".canvas")[0]
    said = "return document.querySelector('.said').textContent"
    series = series_of(page, 0)
    spoken = set()
    for _ in series:
        canvas.send_keys(*[Keys.ARROW_LEFT] * 9)
        for _ in range(max(len(one["x"]) for one in series)):
            canvas.send_keys(Keys.ARROW_RIGHT)
            spoken.add(page.execute_script(said))
            canvas.send_keys(Keys.ARROW_LEFT, Keys.ARROW_RIGHT)
            spoken.add(page.execute_script(said))
        canvas.send_keys(*[Keys.ARROW_LEFT] * 9)
        spoken.add(page.execute_script(said))
        canvas.send_keys(Keys.ARROW_DOWN)
    wanted = {
        ", ".join(f"{n} = {v}" for n, v in known_of(one, place)["keys"].items())
        for one in series
        for place in range(len(one["x"]))
    }
    assert {text.partition(":")[0] for text in spoken} == wanted
    canvas.send_keys(Keys.ENTER)
    assert "Chosen point" in page.execute_script("return document.activeElement.textContent")


def test_a_click_shows_the_rows_behind_a_point_and_how_to_replay_one(page, run):
    known = point_at(page, 1, click=True)
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


def test_scripts_of_others_are_blocked(page):
    add = "document.head.append(Object.assign(document.createElement('script'), arguments[0]))"
    for given in ({"textContent": "window.foreign = 1"}, {"src": "data:,window.foreign = 1"}):
        page.execute_script(add, given)
    page.execute_script("document.body.setAttribute('onclick', 'window.foreign = 1')")
    page.execute_script("document.body.click()")
    time.sleep(0.2)
    assert page.execute_script("return window.foreign") is None
    page.get_log("browser")


def test_a_served_report_works_like_a_folder(browser, site, run):
    files = [path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()]
    with server_of(site, files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.get_log("browser")
        browser.get(f"http://127.0.0.1:{server.server_port}/")
        browser.find_element("css selector", "#all-runs tbody a").click()
        until(browser, READY, 2)
        point_at(browser, 1, click=True)
        until(browser, "return document.querySelectorAll('.chosen dl + button')[0]").click()
        until(browser, "return document.querySelectorAll('.chosen tbody tr').length === 12")
        assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
        server.shutdown()


@pytest.mark.parametrize("press", ["click", "Enter"])
def test_an_entry_of_the_legend_hides_its_lines_and_their_numbers(page, press):
    from selenium.webdriver.common.keys import Keys

    entry = page.find_element("css selector", ".figure [data-entry]")
    act = entry.click if press == "click" else lambda: entry.send_keys(Keys.ENTER)
    place = entry.get_attribute("data-entry")
    shown = (
        "return [...document.querySelectorAll(`.figure [data-entries~='${arguments[0]}']`)]"
        ".slice(0, 1).filter(mark => getComputedStyle(mark).display !== 'none').length"
    )
    own = [one for one in series_of(page, 0) if int(place) in one["entries"]]
    assert own
    assert page.execute_script(shown, place) == 1
    act()
    assert entry.get_attribute("aria-pressed") == "false"
    assert page.execute_script(shown, place) == 0
    point_at(page, 0, series_of(page, 0).index(own[0]), 0)
    keys = ", ".join(f"{n} = {v}" for n, v in known_of(own[0], 0)["keys"].items())
    assert keys not in page.execute_script(HOVER)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.execute_script(shown, place) == 1
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    act()
    assert page.execute_script(shown, place) == 1


def test_zooming_by_buttons_and_by_dragging_and_back(page):
    from selenium.webdriver import ActionChains

    view = (
        "return document.querySelector('.canvas svg').getAttribute('viewBox')"
        ".split(' ').map(Number)"
    )
    whole = page.execute_script(view)
    page.execute_script("document.querySelector('.tools .in').click()")
    assert page.execute_script(view)[2:] == pytest.approx([whole[2] / 2, whole[3] / 2])
    page.execute_script("document.querySelector('.tools .reset').click()")
    assert page.execute_script(view) == whole
    figure = page.find_element("css selector", ".canvas svg")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    actions = ActionChains(page)
    actions.move_to_element_with_offset(figure, 0, 20).click_and_hold()
    actions.move_by_offset(60, 40).release().perform()
    # Units of a figure are points, of which 72 are 96 pixels.
    assert page.execute_script(view)[2:] == pytest.approx([45, 30], abs=0.5)
    actions = ActionChains(page)
    actions.move_to_element_with_offset(figure, 0, 20).double_click().perform()
    assert page.execute_script(view) == whole


def test_a_figure_is_saved_without_the_state_of_the_page(page):
    page.execute_script(
        """
        window.kept = [];
        const made = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(t => kept.push(t)); return made(blob); };
        HTMLAnchorElement.prototype.click = function () { kept.push(this.download); };
        document.querySelector('.tools .in').click();
        document.querySelector('.tools .save').click();
        document.getElementById('save-rows').click();
        """
    )
    name, figure = until(page, "return kept.length > 1 && kept.slice(0, 2)")
    assert name == "phase_transition.svg"
    root = ElementTree.fromstring(figure)
    assert root.get("viewBox").startswith("0 0 ")
    assert not [one for one in root.iter() if one.get("class") in ("ring", "frame")]


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
        until(browser, READY, len(browser.find_elements("css selector", ".canvas")))
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
        until(browser, READY, len(browser.find_elements("css selector", ".canvas")))
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
