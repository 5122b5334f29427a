"""docs/checks.md is what the headers of the checks say."""
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_made_from_the_headers():
    made = subprocess.run(["sh", str(ROOT / "docs/checks.sh")], capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "docs/checks.md").read_text(), "sh docs/checks.sh > docs/checks.md"
    for check in (ROOT / "sql/checks").glob("*.sql"):
        assert f"## {check.stem}\n" in made
