"""Draw the README's picture: the first screen of the report about the shipped forecasts."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import calibrant as cal
from calibrant.cli.demo import TITLE

SIZE = {"width": 1280, "height": 800}


def main() -> None:
    columns = cal.datasets.flights()
    audit = cal.audit(
        columns["outcome"],
        columns["prediction"],
        by={name: columns[name] for name in ("carrier", "month")},
        clusters=100 * columns["month"].astype(int) + columns["day"],
        title=TITLE,
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "report.html"
        audit.to_html(page)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport=SIZE)
        tab.goto(page.as_uri())
        tab.screenshot(path=Path(__file__).with_name("report.png"))
        browser.close()


if __name__ == "__main__":
    main()
