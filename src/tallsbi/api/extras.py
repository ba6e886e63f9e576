"""Packages that only some calls need: `pip install tallsbi` leaves them out, `tallsbi[<extra>]` has them."""

from importlib.util import find_spec


def require(extra: str, *modules: str) -> None:
    """Refuses a call whose packages are missing, before any work is done."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"this needs {' and '.join(missing)}, which tallsbi does not install by itself; "
            f"pip install 'tallsbi[{extra}]'"
        )
